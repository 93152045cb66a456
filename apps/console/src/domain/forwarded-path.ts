import { AppError } from '@sealgate/errors';

/** What Node would refuse to send, and what a browser never leaves in a path. */
const PLAIN = /^\/[\x21\x23-\x3b\x3d\x3f-\x5b\x5d-\x7e]*$/;

/**
 * The path behind the prefix, exactly as it was sent, so that ids with encoded characters arrive as they are. Whatever
 * anybody on the way could take for a step upwards is refused, however it is written.
 * @throws AppError NOT_FOUND
 */
export function forwardedPath(path: string, prefix: string): string {
  const rest = path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : '';
  if (!PLAIN.test(rest) || rest.includes('?') || rest.slice(1).split('/').some(isMisleading))
    throw new AppError('NOT_FOUND', 'There is nothing at this path.');
  return rest;
}

/** Decoded twice, since a proxy before the surface may decode once more than it should. */
function isMisleading(segment: string): boolean {
  if (segment === '') return true;
  const once = decoded(segment);
  const twice = once === undefined ? undefined : (decoded(once) ?? once);
  return once === undefined || [once, twice].some((text) => text?.split(/[/\\;]/).some((part) => isDots(part)) ?? true);
}

const isDots = (part: string): boolean => part === '.' || part === '..';

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined; // Malformed: decodeURIComponent throws nothing else.
  }
}
