import { logName, parseLogName, type LostEntries } from '@sealgate/envelope';

/** The stored log differs from what was signed. Nothing is signed over it until it is restored. */
export class LedgerCorruptError extends Error {
  override readonly name = 'LedgerCorruptError';
  readonly channel: string;

  constructor(log: string, problem: string, options?: ErrorOptions) {
    super(`Channel ${log}: ${problem}.`, options);
    this.channel = parseLogName(log)?.channel ?? log;
  }
}

/** The first problem found by an audit. */
export class Finding extends Error {
  override readonly name = 'Finding';
  readonly recordId: string | null;

  constructor(problem: string, recordId: string | null = null) {
    super(problem);
    this.recordId = recordId;
  }
}

/** The kept checkpoints of the channel were not signed by this ledger: another ledger, or another key. */
export class LedgerNotContinuedError extends LedgerCorruptError {}

/** The database does not continue the newest kept checkpoint: it was rolled back or forked. */
export class LedgerLostError extends LedgerCorruptError {
  /** Losses of each log that does not continue its kept checkpoints, oldest first. At least one. */
  readonly losses: readonly LostEntries[];

  constructor(channel: string, losses: readonly LostEntries[], head: number) {
    super(channel, lossText(losses, head));
    this.losses = losses;
  }
}

/** Whether only comparing kept checkpoints of this log can clear the error. A declared loss belongs to an ended log. */
export function needsComparison(error: LedgerCorruptError | undefined, log: string): boolean {
  if (error instanceof LedgerNotContinuedError) return true;
  const newest = error instanceof LedgerLostError ? error.losses.at(-1)!.epoch : -1;
  return newest >= (parseLogName(log)?.epoch ?? 0);
}

/**
 * `head` is the number of entries of the first of these logs in the database; those from `lostFrom` on are not proved
 * to be the signed ones. Entries of later logs are lost together with their declarations.
 */
export function lossText(losses: readonly LostEntries[], head: number): string {
  const told = losses.flatMap((loss, place) => {
    const { epoch, lostFrom: from, lostUntil: until } = loss;
    if (from === until) return [];
    const what = epoch === 0 ? 'record' : 'entry';
    const of = epoch === 0 ? '' : ` in ${logName('', epoch).slice(1)}`;
    const there = place === 0 ? head : 0;
    const missing = Math.max(from, there);
    const parts = [
      ...(missing < until ? [`${rangeText(what, missing, until)} missing`] : []),
      ...(from < there ? [`${rangeText(what, from, Math.min(there, until))} not shown to be what was signed for`] : []),
    ];
    return [`of ${until} ${plural(what)} that were signed for${of}, ${parts.join(', and ')}`];
  });
  return `the database was rolled back or is a fork: ${told.join('; ')}`;
}

const plural = (what: string): string => (what === 'entry' ? 'entries' : `${what}s`);

function rangeText(what: string, from: number, until: number): string {
  return until - from === 1 ? `${what} ${from} is` : `${plural(what)} ${from} to ${until - 1} are`;
}
