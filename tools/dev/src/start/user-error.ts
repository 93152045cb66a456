/** An error the user can fix. The message is one or two full sentences, printed without a stack. */
export class UserError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'UserError';
  }
}

/** The start was interrupted before it was ready: not a failure. */
export class Interrupted extends Error {
  constructor() {
    super('Stopped before everything was ready.');
    this.name = 'Interrupted';
  }
}

/**
 * The message of any thrown value. Not by `instanceof`: under a test runner Node's own errors are from another realm.
 */
export function messageOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : String(error);
}
