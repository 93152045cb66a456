/**
 * The database gave no answer: it is unreachable, the connection was cut, the deadline passed, it is
 * shutting down or has no connection left. `sent` says what is known about the statement:
 * true, it may have taken effect; false, it certainly has not.
 */
export class DatabaseUnavailableError extends Error {
  readonly sent: boolean;

  constructor(detail: string, options: { sent: boolean; cause?: unknown }) {
    super(detail, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'DatabaseUnavailableError';
    this.sent = options.sent;
  }
}
