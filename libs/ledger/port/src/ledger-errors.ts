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

  constructor(channel: string, options?: ErrorOptions) {
    super(
      `Channel ${channel} is halted, because records of it that were signed for are missing; nothing was written.`,
      options,
    );
  }
}

/** Nothing was done: the database role of this process has no right to this in that channel. Its migration job gives it. */
export class LedgerForbiddenError extends LedgerUnavailableError {
  override readonly name = 'LedgerForbiddenError';
}

/** Nothing was written: more is waiting than the driver holds. */
export class LedgerOverloadedError extends Error {
  override readonly name = 'LedgerOverloadedError';
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
