/** The log is not as it was left. Nothing is signed over it until an operator has looked. */
export class LedgerCorruptError extends Error {
  override readonly name = 'LedgerCorruptError';
  readonly channel: string;

  constructor(channel: string, problem: string, options?: ErrorOptions) {
    super(`Channel ${channel}: ${problem}.`, options);
    this.channel = channel;
  }
}
