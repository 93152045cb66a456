/**
 * A server could not be started or found for a reason that a user can fix. The message is one or two whole sentences,
 * to be shown without a stack.
 */
export class LocalServiceError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'LocalServiceError';
  }
}

const sentences: Readonly<Record<string, (path: string) => string>> = {
  ENOSPC: (path) => `The disk that holds ${path} is full. Free some space and start again.`,
  EDQUOT: (path) => `The disk quota for ${path} is used up. Free some space and start again.`,
  EROFS: (path) => `${path} is on a read-only file system. Choose a folder that can be written.`,
  EACCES: (path) => `${path} cannot be written by this user. Choose a folder that can be written.`,
  EPERM: (path) => `${path} cannot be written by this user. Choose a folder that can be written.`,
  ENOTDIR: (path) => `A part of the path ${path} is a file, not a folder. Choose another folder.`,
};

/**
 * The system error code of anything thrown, such as `ENOSPC`; undefined if it has none. Without `instanceof`: under
 * jest Node's own errors come from another realm.
 */
export function systemCodeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

/** Maps a file system error about `path` to a LocalServiceError; returns any other error unchanged. */
export function explainFileError(error: unknown, path: string): unknown {
  const sentence = sentences[systemCodeOf(error) ?? ''];
  return sentence === undefined ? error : new LocalServiceError(sentence(path), { cause: error });
}

/** Runs `work` on `path` and maps its file system errors by `explainFileError`. */
export function withFileErrorsExplained<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw explainFileError(error, path);
  }
}
