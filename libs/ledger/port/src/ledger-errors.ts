/** Nothing was written: the ledger cannot be reached, or did not take the unit before its deadline. */
export class LedgerUnavailableError extends Error {
  override readonly name: string = 'LedgerUnavailableError';
}

/** Nothing was written: a unit with another fingerprint holds the claim, and what becomes of it is not known yet. */
export class ClaimInFlightError extends LedgerUnavailableError {
  override readonly name = 'ClaimInFlightError';
}

/** Nothing was written: records of the channel that were signed for are missing, and it takes no more until that is settled. */
export class ChannelHaltedError extends LedgerUnavailableError {
  override readonly name = 'ChannelHaltedError';
  /** For people, without an end: whoever tells it says what follows from it. */
  readonly reason: string;

  constructor(channel: string, options?: ErrorOptions) {
    const reason = `Channel ${channel} is halted, because records of it that were signed for are missing`;
    super(`${reason}; nothing was written.`, options);
    this.reason = reason;
  }
}

/** The record is there, in an archive that this process has not or cannot read. Another may; it is never "not found". */
export class LedgerArchivedError extends LedgerUnavailableError {
  override readonly name = 'LedgerArchivedError';
  readonly recordType: string;

  constructor({ channel, index, type }: { channel: string; index: number; type: string }, options?: ErrorOptions) {
    super(`Record ${index} of channel ${channel} lies in an archive that this process cannot read.`, options);
    this.recordType = type;
  }
}

/** The channel is not archived, or not as far as was wanted: a sentence for an operator. Nothing is lost. */
export class ArchiveRefusedError extends Error {
  override readonly name = 'ArchiveRefusedError';
}

/** Nothing was done: the database role of this process has no right to this in that channel. Its migration job gives it. */
export class LedgerForbiddenError extends LedgerUnavailableError {
  override readonly name = 'LedgerForbiddenError';
}

/** Nothing was written: more is waiting than the driver holds. */
export class LedgerOverloadedError extends Error {
  override readonly name = 'LedgerOverloadedError';
}

/** Nothing was written: what the guard of the unit names has changed. Whoever looks it up again may write or is refused. */
export class StaleGuardError extends Error {
  override readonly name = 'StaleGuardError';
}

/** It may have been written. `transactionId` is the one it was sent under. */
export class OutcomeUnknownError extends Error {
  override readonly name = 'OutcomeUnknownError';
  readonly transactionId: string;

  constructor(transactionId: string, options?: ErrorOptions) {
    super('The ledger did not say in time whether the unit was written.', options);
    this.transactionId = transactionId;
  }
}
