/** Something the person at the keyboard can mend. The message is one whole sentence (or two), shown without a stack. */
export class UserError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'UserError';
  }
}

/** The start was asked to stop before it was done: no failure, and nothing to say beyond that. */
export class Interrupted extends Error {
  constructor() {
    super('Stopped before everything was ready.');
    this.name = 'Interrupted';
  }
}

/** The message of anything thrown. Not by `instanceof`: under a test runner Node's own errors come from another realm. */
export function messageOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : String(error);
}
