import type { ErrorCode, ItemCode } from '@sealgate/errors';
import type { Target } from './mapping.ts';

/** One transaction of the ledger, and which assets of a write it contains. */
export interface WrittenTransaction {
  readonly transactionId: string;
  /** The block on Fabric, the first index of the transaction in the embedded ledger; null if unknown. */
  readonly blockNumber: number | null;
  readonly assetIds: readonly string[];
}

/** A transaction as shown in the response. */
export type CommittedTransaction = Omit<WrittenTransaction, 'assetIds'> & Pick<Target, 'channel' | 'chaincode'>;

/** All codes that an asset can fail with. OpenAPI lists them from here. */
export const FAILURE_CODES = [
  'RECORD_CONFLICT',
  'INVALID_REQUEST',
  'UNKNOWN_CHAINCODE',
  'LEDGER_UNAVAILABLE',
  'NOT_ATTEMPTED',
  'OUTCOME_UNKNOWN',
] as const satisfies readonly ItemCode[];

export type FailureCode = (typeof FAILURE_CODES)[number];

/** Result of one asset of a request. */
export type AssetResult =
  | { readonly state: 'succeeded'; readonly transaction: CommittedTransaction }
  | { readonly state: 'pending'; readonly transactionId: string }
  | { readonly state: 'failed'; readonly code: FailureCode; readonly message: string; readonly retryable: boolean };

export const failed = (code: FailureCode, message: string, retryable: boolean): AssetResult => ({
  state: 'failed',
  code,
  message,
  retryable,
});

export const NOT_ATTEMPTED = failed('NOT_ATTEMPTED', 'It was not sent to the ledger; send it again.', true);

/** Of a job that is given up: the process that sent it may have died before it stored a result. */
export const NEVER_TOLD = failed(
  'OUTCOME_UNKNOWN',
  'The job was given up; it may have been written. Read it before it is sent again.',
  false,
);

export const UNKNOWN_CHAINCODE = failed('UNKNOWN_CHAINCODE', 'No chaincode is mapped for its type.', false);

/** Errors of a write without an available ledger. */
export const OUTAGES: Readonly<Record<'unavailable' | 'overloaded', { code: ErrorCode; detail: string }>> = {
  unavailable: { code: 'LEDGER_UNAVAILABLE', detail: 'The ledger cannot be reached; nothing was written.' },
  overloaded: { code: 'OVERLOADED', detail: 'The ledger is overloaded; nothing was written.' },
};
