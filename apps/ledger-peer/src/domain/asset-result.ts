import { CATALOGUE, ITEM_CODES, type ErrorCode, type ItemCode } from '@sealgate/errors';
import { enumOf, named, orNull } from '@sealgate/schemas';
import { Type, type Static } from '@sinclair/typebox';

const Text = Type.String();

/** All codes that an asset can fail with. */
export const FAILURE_CODES = [
  'RECORD_CONFLICT',
  'INVALID_REQUEST',
  'UNKNOWN_CHAINCODE',
  'LEDGER_UNAVAILABLE',
  'NOT_ATTEMPTED',
  'OUTCOME_UNKNOWN',
] as const satisfies readonly ItemCode[];

const titles = { ...CATALOGUE, ...ITEM_CODES };
/** The failure codes of assets with their titles, for descriptions. */
export const FAILURE_CODES_TEXT = FAILURE_CODES.map((code) => `\`${code}\`: ${titles[code].title}.`).join('\n');
const FailureCode = enumOf('AssetFailureCode', FAILURE_CODES, { description: FAILURE_CODES_TEXT });
export type FailureCode = Static<typeof FailureCode>;

const FailedAsset = named(
  'FailedAsset',
  Type.Object({
    id: Text,
    index: Type.Integer({ description: 'Its index in the request, from 0.' }),
    code: FailureCode,
    message: Text,
    retryable: Type.Boolean({ description: 'Whether sending the same asset again may succeed.' }),
  }),
);
/** Why an asset failed. */
export type Failure = Readonly<Pick<Static<typeof FailedAsset>, 'code' | 'message' | 'retryable'>>;

const PendingAsset = named('PendingAsset', Type.Object({ id: Text, index: Type.Integer(), transactionId: Text }));

const AssetTransaction = named(
  'AssetTransaction',
  Type.Object({
    transactionId: Text,
    channel: Text,
    chaincode: Text,
    blockNumber: orNull(Type.Integer(), {
      description:
        'The number of its first record in the channel on the embedded ledger, over all epochs; null if unknown.',
    }),
    assetIds: Type.Array(Text),
  }),
);
type AssetTransaction = Readonly<Static<typeof AssetTransaction>>;

/** One transaction of the ledger, and which assets of a write it contains. */
export type WrittenTransaction = Omit<AssetTransaction, 'channel' | 'chaincode'>;
/** A transaction at its target. */
export type CommittedTransaction = Omit<AssetTransaction, 'assetIds'>;

/** The response of a write. */
export const Summary = named(
  'SyncSummary',
  Type.Object({
    summary: named(
      'SyncCounts',
      Type.Object({
        total: Type.Integer(),
        succeeded: Type.Integer(),
        failed: Type.Integer(),
        pending: Type.Integer(),
      }),
    ),
    succeeded: Type.Array(Text, { description: 'Ids, in the order of the request.' }),
    failed: Type.Array(FailedAsset),
    pending: Type.Array(PendingAsset, {
      description: 'It may have been written; the job reports the outcome once it is known.',
    }),
    transactionIds: Type.Array(Text),
    transactions: Type.Array(AssetTransaction),
    jobId: Type.Optional(Text),
  }),
);

/** Result of one asset of a request. */
export type AssetResult =
  | { readonly state: 'succeeded'; readonly transaction: CommittedTransaction }
  | ({ readonly state: 'pending' } & Readonly<Pick<Static<typeof PendingAsset>, 'transactionId'>>)
  | ({ readonly state: 'failed' } & Failure);

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
