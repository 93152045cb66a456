/** The command line, its files or its environment are wrong. The message is one or two whole sentences; nothing was sent. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
