import { AppError } from '@sealgate/errors';

const MAX_CHARACTERS = 2048;
/** A slash and no other beside it: browsers read a backslash as one, and drop tabs and line ends. */
const PATH = /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/;

/**
 * Where a sign-in leads back to: a path of ours, with query and fragment.
 * @throws AppError INVALID_REQUEST for whatever could lead elsewhere.
 */
export function checkedReturnTo(path: string, publicUrl: string): string {
  const isOurs = path.length <= MAX_CHARACTERS && PATH.test(path) && isOfOrigin(path, publicUrl);
  if (isOurs) return path;
  const fault = { in: 'query', pointer: '/returnTo', detail: 'must be a path of this console' } as const;
  throw new AppError('INVALID_REQUEST', 'A sign-in leads back to a path of this console alone.', { faults: [fault] });
}

const isOfOrigin = (path: string, publicUrl: string): boolean =>
  URL.canParse(path, publicUrl) && new URL(path, publicUrl).origin === new URL(publicUrl).origin;
