/** A channel is not as it was left. Nothing is signed over it until it is again. */
export class LedgerCorruptError extends Error {
  override readonly name = 'LedgerCorruptError';
  readonly channel: string;

  constructor(channel: string, problem: string, options?: ErrorOptions) {
    super(`Channel ${channel}: ${problem}.`, options);
    this.channel = channel;
  }
}

/** The channel does not continue what was kept of it: the database was rolled back, or this is another ledger or key. */
export class LedgerNotContinuedError extends LedgerCorruptError {}
