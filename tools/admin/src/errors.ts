/**
 * The command line, its files or its environment are invalid. The message is one or two full sentences; nothing was
 * sent.
 */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** A file that cannot be written, in a sentence: no right, a full or read-only disk, no folder. */
export class UnwritableError extends UsageError {
  constructor(path: string, cause: unknown) {
    super(`${path} cannot be written: ${errorCode(cause) ?? String(cause)}.`, { cause });
  }
}

/** No usable response: unreachable, too slow, or not an admin API. The message says which. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
}

/** Node's code of an error, such as ENOENT, or undefined. By shape, because errors may be from another realm. */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

/** Exit codes, so that scripts can tell the reason. */
export const EXIT_CODES = {
  done: 0,
  refused: 1,
  usage: 2,
  auditFailed: 3,
  unreachable: 4,
} as const;

export type ExitCode = (typeof EXIT_CODES)[keyof typeof EXIT_CODES];

/** Descriptions for `--help` and the README. */
export const EXIT_CODE_MEANINGS: Readonly<Record<ExitCode, string>> = {
  0: 'done',
  1: 'rejected by the admin API (code, detail and request id are on standard error), or a needed secret is missing or cannot be removed',
  2: 'wrong use or not confirmed: nothing was sent; or a file that cannot be read or written',
  3: 'an audit, or a check of a mapping, found something',
  4: 'unreachable, too slow, or not an admin API',
};
