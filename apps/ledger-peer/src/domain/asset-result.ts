import { CATALOGUE, ITEM_CODES, type ErrorCode, type ItemCode } from '@sealgate/errors';
import { enumOf, named, orNull } from '@sealgate/schemas';
import { AnyJson } from './asset.ts';
import { Type, type Static } from '@sinclair/typebox';

const Text = Type.String();

/** All codes that an asset can fail with. */
export const FAILURE_CODES = [
  'RECORD_CONFLICT',
  'INVALID_REQUEST',
  'CONTRACT_REFUSED',
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
    contractMessage: Type.Optional(
      Type.String({ description: "The contract's own message, at most 1 KiB, without control characters." }),
    ),
  }),
);
/** Why an asset failed. */
export type Failure = Readonly<Omit<Static<typeof FailedAsset>, 'id' | 'index'>>;

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

const AssetReturn = named(
  'AssetReturn',
  Type.Object({
    id: Type.String({ description: 'Of the asset; of several in one transaction, of the first.' }),
    result: AnyJson({ description: 'As the contract returned it; what is not JSON as a string.' }),
    truncated: Type.Optional(
      Type.Literal(true, {
        description: 'It was longer than 64 KiB and is the beginning as a string, or null after 1 MiB of results.',
      }),
    ),
  }),
);

/** What a contract returned for a transaction. */
export interface ContractResult {
  /** JSON text. */
  readonly json: string;
  readonly truncated: boolean;
}

/** One transaction of the ledger, and which assets of a write it contains. */
export interface WrittenTransaction extends Omit<AssetTransaction, 'channel' | 'chaincode'> {
  /** Undefined: nothing, or what this service has read for the caller. */
  readonly returned?: ContractResult | undefined;
}
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
    results: Type.Optional(
      Type.Array(AssetReturn, { description: 'What third-party contracts returned; absent if that is nothing.' }),
    ),
    jobId: Type.Optional(Text),
  }),
);

/** Result of one asset of a request. */
export type AssetResult =
  | {
      readonly state: 'succeeded';
      readonly transaction: CommittedTransaction;
      readonly returned?: ContractResult | undefined;
    }
  | ({ readonly state: 'pending' } & Readonly<Pick<Static<typeof PendingAsset>, 'transactionId'>>)
  | ({ readonly state: 'failed' } & Failure);

export const failed = (code: FailureCode, message: string, retryable: boolean): AssetResult => ({
  state: 'failed',
  code,
  message,
  retryable,
});

/** The results of the assets of a transaction at its target, by id. */
export function succeededResults(
  { channel, chaincode }: Pick<AssetTransaction, 'channel' | 'chaincode'>,
  { transactionId, blockNumber, assetIds, returned }: WrittenTransaction,
): (readonly [string, AssetResult])[] {
  const transaction = { transactionId, blockNumber, channel, chaincode };
  return assetIds.map((id, at) => {
    const result = { state: 'succeeded', transaction } as const;
    return [id, at > 0 || returned === undefined ? result : { ...result, returned }] as const;
  });
}

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
