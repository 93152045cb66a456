/** Nothing was written: the ledger cannot be reached, or did not take the unit before its deadline. */
export class LedgerUnavailableError extends Error {
  override readonly name: string = 'LedgerUnavailableError';
}

/** Nothing was written: a unit with another fingerprint holds the claim, and its outcome is not known yet. */
export class ClaimInFlightError extends LedgerUnavailableError {
  override readonly name = 'ClaimInFlightError';
}

/** Nothing was written: signed records of the channel are missing, and it accepts no more until that is resolved. */
export class ChannelHaltedError extends LedgerUnavailableError {
  override readonly name = 'ChannelHaltedError';
  /** For people, without a final period: callers append the consequence. */
  readonly reason: string;

  constructor(channel: string, options?: ErrorOptions) {
    const reason = `Channel ${channel} is halted, because records of it that were signed for are missing`;
    super(`${reason}; nothing was written.`, options);
    this.reason = reason;
  }
}

/** The record exists in an archive that this process cannot read; another process may. It is never "not found". */
export class LedgerArchivedError extends LedgerUnavailableError {
  override readonly name = 'LedgerArchivedError';
  readonly recordType: string;

  constructor({ channel, index, type }: { channel: string; index: number; type: string }, options?: ErrorOptions) {
    super(`Record ${index} of channel ${channel} is in an archive that this process cannot read.`, options);
    this.recordType = type;
  }
}

/** The channel cannot be archived, or not as far as requested; the message is for an operator. Nothing is lost. */
export class ArchiveRefusedError extends Error {
  override readonly name = 'ArchiveRefusedError';
}

/** Nothing was done: the database role of this process lacks the right in that channel. Its migration job grants it. */
export class LedgerForbiddenError extends LedgerUnavailableError {
  override readonly name = 'LedgerForbiddenError';
}

/** Nothing was written: the driver's queue is full. */
export class LedgerOverloadedError extends Error {
  override readonly name = 'LedgerOverloadedError';
}

/** Nothing was written: the guard of the unit has changed. The caller looks it up again, then retries or is refused. */
export class StaleGuardError extends Error {
  override readonly name = 'StaleGuardError';
}

/** The unit may have been written. `transactionId` is the one it was sent with. */
export class OutcomeUnknownError extends Error {
  override readonly name = 'OutcomeUnknownError';
  readonly transactionId: string;

  constructor(transactionId: string, options?: ErrorOptions) {
    super('The ledger did not report in time whether the unit was written.', options);
    this.transactionId = transactionId;
  }
}
