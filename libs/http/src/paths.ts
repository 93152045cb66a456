const LITERAL = /^[A-Za-z0-9._~-]+$/;
const PARAMETER = /^:[A-Za-z][A-Za-z0-9_]*$/;
const REST = /^\*[A-Za-z][A-Za-z0-9_]*$/;

/** The fault of a route's path, or undefined. */
export function pathFault(path: string): string | undefined {
  if (path === '/') return undefined;
  const [first, ...segments] = path.split('/');
  if (first !== '' || segments.length === 0) return 'the path must begin with a slash';
  const names = pathNames(path);
  if (new Set(names).size !== names.length) return 'the path names a parameter twice';
  const rest = segments.findIndex((segment) => REST.test(segment));
  if (rest >= 0 && rest !== segments.length - 1) return 'only the last segment of a path may match the rest';
  const wrong = segments.find((segment) => !isSegment(segment));
  return wrong === undefined ? undefined : `the path has a segment that is not allowed: "${wrong}"`;
}

function isSegment(segment: string): boolean {
  if (segment === '.' || segment === '..') return false;
  return LITERAL.test(segment) || PARAMETER.test(segment) || REST.test(segment);
}

/** The names of a path's parameters, in order. */
export function pathNames(path: string): string[] {
  return path
    .split('/')
    .filter((segment) => PARAMETER.test(segment) || REST.test(segment))
    .map((segment) => segment.slice(1));
}

/** The path as in OpenAPI, logs and metrics: `/v1/cases/{caseId}`. */
export function pathTemplate(path: string): string {
  return path
    .split('/')
    .map((segment) => (PARAMETER.test(segment) || REST.test(segment) ? `{${segment.slice(1)}}` : segment))
    .join('/');
}

/** Sorts literal segments before parameters, and parameters before the rest. */
export function comparePaths(left: string, right: string): number {
  const lefts = left.split('/');
  const rights = right.split('/');
  for (let i = 0; i < Math.min(lefts.length, rights.length); i += 1) {
    const difference = rankOf(lefts[i] ?? '') - rankOf(rights[i] ?? '');
    if (difference !== 0) return difference;
  }
  return lefts.length - rights.length;
}

function rankOf(segment: string): number {
  if (REST.test(segment)) return 2;
  return PARAMETER.test(segment) ? 1 : 0;
}
