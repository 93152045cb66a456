/** An error the user can fix. The message is one or two full sentences, printed without a stack. */
export class DevnetError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'DevnetError';
  }
}

/** Fabric's programs are not installed: the message says how to get them. Exit code 2. */
export class MissingCommandsError extends DevnetError {
  constructor(message: string) {
    super(message);
    this.name = 'MissingCommandsError';
  }
}

/**
 * The message of any thrown value. Not by `instanceof`: under a test runner Node's own errors are from another realm.
 */
export function messageOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : String(error);
}
