/** A channel is not as it was left. Nothing is signed over it until it is again. */
export class LedgerCorruptError extends Error {
  override readonly name = 'LedgerCorruptError';
  readonly channel: string;

  constructor(channel: string, problem: string, options?: ErrorOptions) {
    super(`Channel ${channel}: ${problem}.`, options);
    this.channel = channel;
  }
}

/** What is kept of the channel was not signed by this ledger: it is another ledger, or another key. */
export class LedgerNotContinuedError extends LedgerCorruptError {}

/** Records that were signed for: `from` is the first index, `until` the first behind them. */
export interface Loss {
  readonly from: number;
  readonly until: number;
  /** The newest kept checkpoint: a signed note over `until` records. */
  readonly kept: string;
}

/** The database does not continue the newest kept checkpoint: it was rolled back, or continued otherwise. */
export class LedgerLostError extends LedgerCorruptError {
  readonly loss: Loss;

  constructor(channel: string, loss: Loss, head: number) {
    super(channel, lossText(loss, head));
    this.loss = loss;
  }
}

/** Found by comparing with what is kept, and by nothing else. */
export const isOfKept = (error: LedgerCorruptError | undefined): boolean =>
  error instanceof LedgerLostError || error instanceof LedgerNotContinuedError;

/** `head` records are in the database now; those from `from` on were never shown to be the ones that were signed for. */
export function lossText({ from, until }: Pick<Loss, 'from' | 'until'>, head: number): string {
  const missing = Math.max(from, head);
  const parts = [
    ...(missing < until ? [`${rangeText(missing, until)} missing`] : []),
    ...(from < head ? [`${rangeText(from, Math.min(head, until))} not shown to be what was signed for`] : []),
  ];
  return `the database was rolled back or is a fork: of ${until} records that were signed for, ${parts.join(', and ')}`;
}

function rangeText(from: number, until: number): string {
  return until - from === 1 ? `record ${from} is` : `records ${from} to ${until - 1} are`;
}
