import { LedgerOverloadedError, LedgerUnavailableError, OutcomeUnknownError } from '@sealgate/ledger-port';
import { DatabaseUnavailableError } from '@sealgate/storage';
import type { FabricReason } from './fabric-reasons.ts';

/** Base class of the client's errors. After all but UnknownOutcomeError it is certain that nothing was written. */
export class FabricError extends Error {
  override readonly name: string = 'FabricError';
  /** Set if the cause is known. */
  readonly reason: FabricReason | undefined;

  constructor(message: string, { reason, ...options }: ErrorOptions & { readonly reason?: FabricReason } = {}) {
    super(message, options);
    this.reason = reason;
  }
}

/** The contract refused; the message is the contract's own. */
export class ContractRefusedError extends FabricError {
  override readonly name = 'ContractRefusedError';
}

/** Nothing was ordered: no peer, no orderer, no endorser, no credentials or no journal within the deadline. */
export class UnavailableError extends FabricError {
  override readonly name = 'UnavailableError';
}

/** Nothing was ordered: the peers, or this process, are overloaded. */
export class OverloadedError extends FabricError {
  override readonly name = 'OverloadedError';
}

/** Nothing was ordered, and retrying will not help: no such channel or chaincode, access denied, too large. */
export class MisconfiguredError extends FabricError {
  override readonly name = 'MisconfiguredError';
}

/** In a block without effect, for a reason that a new transaction cannot resolve, or after too many conflicts. */
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

/** It may have been written, or may still be. `settle(transactionId)` reports the outcome once it is known. */
export class UnknownOutcomeError extends FabricError {
  override readonly name = 'UnknownOutcomeError';
  readonly transactionId: string;

  constructor(transactionId: string, options?: ErrorOptions) {
    super('The network did not report in time whether the transaction was committed.', options);
    this.transactionId = transactionId;
  }
}

/** Nothing was written: another transaction holds the claim, or the reference. */
export class ClaimTakenError extends FabricError {
  override readonly name = 'ClaimTakenError';
}

/** Maps the driver's errors to those of the port; others pass unchanged. */
export function asLedgerError(cause: unknown): unknown {
  if (cause instanceof UnknownOutcomeError) return new OutcomeUnknownError(cause.transactionId, { cause });
  if (cause instanceof OverloadedError) return new LedgerOverloadedError(cause.message, { cause });
  if (cause instanceof UnavailableError) return new LedgerUnavailableError('The ledger cannot be reached.', { cause });
  if (cause instanceof MisconfiguredError) {
    return new LedgerUnavailableError('The network refuses this service as it is configured.', { cause });
  }
  // In a block without effect: nothing was written, and a retry may succeed.
  if (cause instanceof InvalidatedError) return new LedgerUnavailableError(cause.message, { cause });
  if (cause instanceof DatabaseUnavailableError) {
    return new LedgerUnavailableError('The journal cannot be queried.', { cause });
  }
  return cause;
}
