import { LedgerOverloadedError, LedgerUnavailableError, OutcomeUnknownError } from '@sealgate/ledger-port';
import { DatabaseUnavailableError } from '@sealgate/storage';
import {
  InvalidatedError,
  MisconfiguredError,
  OverloadedError,
  UnavailableError,
  UnknownOutcomeError,
} from './fabric-errors.ts';

/** The driver's errors in the words of the port; others pass as they are. */
export function asLedgerError(cause: unknown): unknown {
  if (cause instanceof UnknownOutcomeError) return new OutcomeUnknownError(cause.transactionId, { cause });
  if (cause instanceof OverloadedError) return new LedgerOverloadedError(cause.message, { cause });
  if (cause instanceof UnavailableError) return new LedgerUnavailableError('The ledger cannot be reached.', { cause });
  if (cause instanceof MisconfiguredError) {
    return new LedgerUnavailableError('The network does not serve this service as it is set up.', { cause });
  }
  // In a block and without effect: nothing was written, and a later attempt may fare better.
  if (cause instanceof InvalidatedError) return new LedgerUnavailableError(cause.message, { cause });
  if (cause instanceof DatabaseUnavailableError) {
    return new LedgerUnavailableError('The journal cannot be asked.', { cause });
  }
  return cause;
}
