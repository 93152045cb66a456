import { DeclaredLoss } from '@sealgate/admin-api';
import { enumOf, named } from '@sealgate/http';
import { CATALOGUE, ITEM_CODES } from '@sealgate/errors';
import type { JsonValue } from '@sealgate/json';
import { Type, type SchemaOptions } from '@sinclair/typebox';
import { FAILURE_CODES } from '../domain/asset-result.ts';

/** JSON that is passed on unchanged. */
export const AnyJson = (options: SchemaOptions & { readonly type?: string }) => Type.Unsafe<JsonValue>(options);

const Text = Type.String();

const titles = { ...CATALOGUE, ...ITEM_CODES };
/** The failure codes of assets with their titles, for descriptions. */
export const FAILURE_CODES_TEXT = FAILURE_CODES.map((code) => `\`${code}\`: ${titles[code].title}.`).join('\n');
const Failure = enumOf('AssetFailureCode', FAILURE_CODES, { description: FAILURE_CODES_TEXT });

const Counts = named(
  'SyncCounts',
  Type.Object({
    total: Type.Integer(),
    succeeded: Type.Integer(),
    failed: Type.Integer(),
    pending: Type.Integer(),
  }),
);

const FailedAsset = named(
  'FailedAsset',
  Type.Object({
    id: Text,
    index: Type.Integer({ description: 'Its index in the request, from 0.' }),
    code: Failure,
    message: Text,
    retryable: Type.Boolean({ description: 'Whether sending the same asset again may succeed.' }),
  }),
);

const AssetTransaction = named(
  'AssetTransaction',
  Type.Object({
    transactionId: Text,
    channel: Text,
    chaincode: Text,
    blockNumber: Type.Union([Type.Integer(), Type.Null()], {
      description:
        'The number of its first record in the channel on the embedded ledger, over all epochs; null if unknown.',
    }),
    assetIds: Type.Array(Text),
  }),
);

const PendingAsset = named('PendingAsset', Type.Object({ id: Text, index: Type.Integer(), transactionId: Text }));

export const Summary = named(
  'SyncSummary',
  Type.Object({
    summary: Counts,
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

export const JobStatus = enumOf('JobStatus', ['queued', 'running', 'done']);
export const AcceptedJob = named('AcceptedJob', Type.Object({ jobId: Text, status: JobStatus }));

const Hex = Type.String({ pattern: '^[0-9a-f]{64}$' });
const OrNull = <const Schema extends typeof Text>(schema: Schema) => Type.Union([schema, Type.Null()]);

export const Receipt = named(
  'Receipt',
  Type.Object({
    network: Text,
    channel: Text,
    id: Text,
    type: Text,
    owner: OrNull(Text),
    dataHash: Hex,
    salt: OrNull(Hex),
    extra: AnyJson({}),
    transactionId: Text,
    at: Text,
    index: Type.Integer(),
    epoch: Type.Optional(
      Type.Integer({ minimum: 1, description: 'Epoch of the log; present once the channel has declared a loss.' }),
    ),
  }),
);

export const Proof = named(
  'InclusionProof',
  Type.Object({
    channel: Text,
    index: Type.Integer(),
    leafHash: Hex,
    treeSize: Type.Integer(),
    inclusionPath: Type.Array(Hex, { description: 'From the leaf to the root.' }),
    checkpoint: Type.String({ description: 'A signed note (C2SP tlog-checkpoint).' }),
    epoch: Type.Optional(Type.Integer({ minimum: 1 })),
    origin: Type.Optional(Text),
    declaration: Type.Optional(
      Type.Object(
        { statement: DeclaredLoss, inclusionPath: Type.Array(Hex) },
        { description: 'The first entry of the log of that epoch: entry 0 under the same checkpoint.' },
      ),
    ),
  }),
);
