import type { FabricReason } from './fabric-reasons.ts';

/**
 * What a call of Fabric can end with besides an answer. Of all but UnknownOutcomeError it is certain that nothing was
 * written.
 */
export class FabricError extends Error {
  override readonly name: string = 'FabricError';
  /** Where it is known why. */
  readonly reason: FabricReason | undefined;

  constructor(message: string, { reason, ...options }: ErrorOptions & { readonly reason?: FabricReason } = {}) {
    super(message, options);
    this.reason = reason;
  }
}

/** The contract said no; the message is in its own words. */
export class ContractRefusedError extends FabricError {
  override readonly name = 'ContractRefusedError';
}

/** Nothing was ordered: no peer, no orderer, no endorser, no credentials or no journal within the deadline. */
export class UnavailableError extends FabricError {
  override readonly name = 'UnavailableError';
}

/** Nothing was ordered: the peers, or this process, have more to do than they take. */
export class OverloadedError extends FabricError {
  override readonly name = 'OverloadedError';
}

/** Nothing was ordered, and trying again will not help: no such channel or chaincode, access denied, too large. */
export class MisconfiguredError extends FabricError {
  override readonly name = 'MisconfiguredError';
}

/** In a block, and without effect, for a reason that a new transaction does not mend, or once too often. */
export class InvalidatedError extends FabricError {
  override readonly name = 'InvalidatedError';
  /** Fabric's validation code, for example `ENDORSEMENT_POLICY_FAILURE`. */
  readonly code: string;
  readonly transactionId: string;

  constructor(transactionId: string, code: string) {
    super(`Transaction ${transactionId} is in a block and without effect: ${code}.`);
    this.code = code;
    this.transactionId = transactionId;
  }
}

/** It may have been written, or may yet be. `settle(transactionId)` tells, as soon as it is known. */
export class UnknownOutcomeError extends FabricError {
  override readonly name = 'UnknownOutcomeError';
  readonly transactionId: string;

  constructor(transactionId: string, options?: ErrorOptions) {
    super('The network did not say in time whether the transaction was committed.', options);
    this.transactionId = transactionId;
  }
}

/** Nothing was written: another transaction holds the claim. */
export class ClaimTakenError extends FabricError {
  override readonly name = 'ClaimTakenError';
}
