/**
 * A server could not be started or found for a reason a person can act on.
 * The message is one whole sentence (or two) fit to be shown as it is, without a stack.
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
 * The system error code of anything thrown, such as `ENOSPC`; undefined where it has none.
 * Not by `instanceof`: under a test runner Node's own errors come from another realm.
 */
export function systemCodeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

/** Turns what the file system threw about `path` into one sentence; any other error comes back as it was. */
export function explainFileError(error: unknown, path: string): unknown {
  const sentence = sentences[systemCodeOf(error) ?? ''];
  return sentence === undefined ? error : new LocalServiceError(sentence(path), { cause: error });
}

/** Runs `work` on `path`, with its file system errors told as one sentence. */
export function withFileErrorsExplained<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw explainFileError(error, path);
  }
}
