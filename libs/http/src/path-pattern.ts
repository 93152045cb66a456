import { AppError } from '@sealgate/errors';

const LITERAL = /^[A-Za-z0-9._~-]+$/;
const PARAMETER = /^:[A-Za-z][A-Za-z0-9_]*$/;
const REST = /^\*[A-Za-z][A-Za-z0-9_]*$/;

/** What is wrong with the path of a route, or undefined. */
export function pathFault(path: string): string | undefined {
  if (path === '/') return undefined;
  const [first, ...segments] = path.split('/');
  if (first !== '' || segments.length === 0) return 'the path must begin with a slash';
  const names = pathNames(path);
  if (new Set(names).size !== names.length) return 'the path names a parameter twice';
  const rest = segments.findIndex((segment) => REST.test(segment));
  if (rest >= 0 && rest !== segments.length - 1) return 'only the last segment of a path may take the rest';
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

/** The path as OpenAPI, logs and metrics show it: `/v1/cases/{caseId}`. */
export function pathTemplate(path: string): string {
  return path
    .split('/')
    .map((segment) => (PARAMETER.test(segment) || REST.test(segment) ? `{${segment.slice(1)}}` : segment))
    .join('/');
}

/** Orders paths so that a literal segment is tried before a parameter, and a parameter before the rest. */
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

export type PathValues = Readonly<Record<string, string>>;

/**
 * The decoded parameters of a request. A segment that is a dot segment in disguise is no name of anything, and an
 * encoded slash in the rest of a path would pass for a separator: both are 404. With `withoutRest` the rest of the path is
 * left out, and looked at by whoever takes it.
 */
export function pathValuesOf(
  params: Readonly<Record<string, string | string[]>>,
  { withoutRest = false }: { readonly withoutRest?: boolean | undefined } = {},
): PathValues {
  const values: Record<string, string> = {};
  for (const name in params) {
    const value = params[name] ?? '';
    if (typeof value === 'string') values[name] = checkedSegment(value);
    else if (!withoutRest) values[name] = value.map(checkedRestSegment).join('/');
  }
  return values;
}

/** One 404 for everything that is not there. */
export function notFound(): AppError {
  return new AppError('NOT_FOUND', 'There is nothing at this path.');
}

function checkedSegment(segment: string): string {
  if (segment === '.' || segment === '..' || segment === '') throw notFound();
  return segment;
}

function checkedRestSegment(segment: string): string {
  if (segment.includes('/')) throw notFound();
  return checkedSegment(segment);
}
