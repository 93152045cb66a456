/** Something a person can mend. The message is one whole sentence (or two), fit to be shown without a stack. */
export class DevnetError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'DevnetError';
  }
}

/** Fabric's programs are not on this machine: the message says how to get them. Exit code 2. */
export class MissingCommandsError extends DevnetError {
  constructor(message: string) {
    super(message);
    this.name = 'MissingCommandsError';
  }
}

/** The message of anything thrown. Not by `instanceof`: under a test runner Node's own errors come from another realm. */
export function messageOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : String(error);
}
