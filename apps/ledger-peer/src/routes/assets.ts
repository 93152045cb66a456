import { AppError } from '@sealgate/errors';
import { closedObject, lineOfText, named, routeFor, type BodyTurns, type Reply, type Route } from '@sealgate/http';
import type { JsonValue } from '@sealgate/json';
import { Type } from '@sinclair/typebox';
import type { AnswerSync, SyncAnswer } from '../domain/answer-sync.ts';
import type { PeerCaller } from '../domain/caller.ts';
import { proveAsset, queryAssets, readAsset, type ReadAssetsPorts } from '../domain/read-assets.ts';
import { DEFAULT_BATCH_SIZE } from '../domain/run-job.ts';
import { prefersAsync } from './prefer.ts';
import { AcceptedJob, AnyJson, FAILURE_CODES_TEXT, Proof, Receipt, Summary } from './schemas.ts';

const route = routeFor<PeerCaller>();

const MAX_ASSETS = 1000;
const LARGE_BODY_BYTES = 131_072;
const QUERY_LIMIT = { default: 100, max: 1000 } as const;

const AssetId = Type.String({
  minLength: 1,
  maxLength: 256,
  pattern: '^(?!\\.{1,2}$)[^\\u0000-\\u001f\\u007f]*$',
  description: 'Neither `.` nor `..`, which no path can name.',
});
const AssetType = lineOfText({ min: 1, max: 128 });

const SyncBody = closedObject({
  assets: Type.Array(
    named('Asset', closedObject({ id: AssetId, type: AssetType, data: AnyJson({ type: 'object' }) })),
    {
      minItems: 1,
      maxItems: MAX_ASSETS,
    },
  ),
  options: Type.Optional(
    closedObject({
      batchSize: Type.Optional(
        Type.Integer({ minimum: 1, maximum: 500, default: DEFAULT_BATCH_SIZE, description: 'Assets a batch.' }),
      ),
      continueOnError: Type.Optional(
        Type.Boolean({ default: false, description: 'Whether batches behind one in which an asset failed are sent.' }),
      ),
    }),
  ),
});

const QueryBody = closedObject({
  type: AssetType,
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: QUERY_LIMIT.max, default: QUERY_LIMIT.default })),
  cursor: Type.Optional(
    Type.String({ pattern: '^[A-Za-z0-9_-]{1,4096}$', description: 'nextCursor of the page before.' }),
  ),
});

const ReadQuery = Type.Object(
  {
    type: Type.Optional(lineOfText({ min: 1, max: 128 })),
    proof: Type.Optional(
      Type.Literal('true', { description: 'Also the receipt, and the proof that it is in the log.' }),
    ),
  },
  { additionalProperties: false },
);

const AsRead = AnyJson({ description: 'What the read query of the contract returned.' });
const Proved = named(
  'ProvedAsset',
  Type.Object({ asset: AsRead, receipt: Receipt, proof: Proof }, { description: 'With `proof=true`.' }),
);

const Page = named(
  'AssetPage',
  Type.Object({
    assets: Type.Array(AsRead),
    count: Type.Integer({ description: 'How many are in this page.' }),
    nextCursor: Type.Union([Type.String(), Type.Null()], { description: 'null exactly on the last page.' }),
  }),
);

export interface AssetsPorts {
  readonly answerSync: AnswerSync;
  readonly reading: ReadAssetsPorts;
  readonly bodyMaxBytes: number;
  readonly bodyTurns: BodyTurns;
  /** Resolves in a later turn of the event loop. */
  readonly nextTurn: () => Promise<void>;
}

/** Assets onto their chaincode, and back. */
export function assetRoutes(ports: AssetsPorts): Route<PeerCaller>[] {
  return [syncRoute(ports), queryRoute(ports), readRoute(ports)];
}

function syncRoute({ answerSync, bodyMaxBytes, bodyTurns, nextTurn }: AssetsPorts): Route<PeerCaller> {
  return route({
    method: 'post',
    path: '/api/assets',
    operationId: 'syncAssets',
    summary: 'Push assets onto the chaincode that is mapped for their types',
    description:
      'Each asset is told apart: succeeded, failed, or pending while its outcome is not known. `Prefer: respond-async` ' +
      'answers at once with a job. The same Idempotency-Key and body get the same answer for 30 days.',
    permit: 'authenticated',
    charge: 1,
    idempotency: 'in-transaction',
    body: SyncBody,
    bodyMaxBytes,
    bodyTurns,
    requestHeaders: { Prefer: '`respond-async` (RFC 7240): answer at once with a job, and write afterwards.' },
    inspect: refuseLargeBatch,
    responses: {
      200: {
        description: `What became of each asset; all of them may have failed, each with a code of its own.\n${FAILURE_CODES_TEXT}`,
        schema: Summary,
      },
      202: {
        description: `A job: of a sender that does not wait, or for what is pending beside what failed.\n${FAILURE_CODES_TEXT}`,
        schema: Type.Union([Summary, AcceptedJob]),
        headers: {
          Location: 'Where to ask for the job.',
          'Preference-Applied': '`respond-async`, where it was preferred.',
        },
      },
    },
    errors: ['BATCH_TOO_LARGE', 'UNKNOWN_CHAINCODE', 'LEDGER_UNAVAILABLE', 'OVERLOADED'],
    async handler(context) {
      const { assets, options = {} } = context.body;
      // A large body takes its time in several turns of the event loop: parsed in the last, sorted into batches in the next.
      if (context.rawBody.length > LARGE_BODY_BYTES) await nextTurn();
      const answer = await answerSync({
        caller: context.caller,
        assets,
        batchSize: options.batchSize ?? DEFAULT_BATCH_SIZE,
        continueOnError: options.continueOnError ?? false,
        prefersAsync: prefersAsync(context.header('prefer')),
        idempotencyKeys: context.idempotency.keys,
        method: context.method,
        path: context.path,
        body: context.body,
        rawBody: context.rawBody,
      });
      context.note({ records: assets.length });
      return replyOf(answer);
    },
  });
}

/** Said before the shape is looked at: of so many assets it would be looked at in vain. */
function refuseLargeBatch(body: JsonValue): void {
  const assets = body !== null && typeof body === 'object' && !Array.isArray(body) ? body['assets'] : undefined;
  if (Array.isArray(assets) && assets.length > MAX_ASSETS) {
    throw new AppError('BATCH_TOO_LARGE', `A request may hold at most ${MAX_ASSETS} assets.`);
  }
}

function replyOf({ status, body, jobId, isAsync, replayed }: SyncAnswer): Reply {
  const headers = {
    ...(status === 202 ? { Location: `/api/jobs/${jobId}` } : {}),
    ...(isAsync ? { 'Preference-Applied': 'respond-async' } : {}),
    ...(replayed ? { 'Idempotent-Replayed': 'true' } : {}),
  };
  return { status, body, headers };
}

function queryRoute({ reading, bodyMaxBytes, bodyTurns }: AssetsPorts): Route<PeerCaller> {
  return route({
    method: 'post',
    path: '/api/assets/query',
    operationId: 'queryAssets',
    summary: 'List the assets of a type by id, in code point order',
    description:
      'A page may hold fewer than `limit` where its assets are large; `nextCursor` alone says whether it is the last.',
    permit: 'authenticated',
    charge: 1,
    idempotency: 'none',
    body: QueryBody,
    bodyMaxBytes,
    bodyTurns,
    pagedBy: 'body',
    responses: { 200: { description: 'A page.', schema: Page } },
    errors: ['INVALID_LIMIT', 'INVALID_CURSOR', 'UNKNOWN_CHAINCODE', 'LEDGER_UNAVAILABLE', 'RECORD_ARCHIVED'],
    async handler({ body: { type, limit = QUERY_LIMIT.default, cursor } }) {
      return { status: 200, body: await queryAssets(reading, { type, limit, cursor }) };
    },
  });
}

function readRoute({ reading }: AssetsPorts): Route<PeerCaller> {
  return route({
    method: 'get',
    path: '/api/assets/:id',
    operationId: 'readAsset',
    summary: 'Read an asset as its chaincode returns it',
    description:
      'Without `type` the mapped contracts are asked in the order of the mapping file. A record of a type that is not ' +
      'mapped onto the place where it was found is 404, whatever `type` says.',
    permit: 'authenticated',
    charge: 1,
    idempotency: 'none',
    params: Type.Object({ id: AssetId }),
    query: ReadQuery,
    responses: {
      200: {
        description: 'The asset; with `proof=true` with its receipt and proof.',
        schema: Type.Union([AsRead, Proved]),
      },
    },
    errors: ['NOT_FOUND', 'UNKNOWN_CHAINCODE', 'LEDGER_UNAVAILABLE', 'RECORD_ARCHIVED'],
    async handler({ params: { id }, query: { type, proof } }) {
      if (proof !== 'true') return { status: 200, body: await readAsset(reading, id, type) };
      return { status: 200, body: await proveAsset(reading, id, type), holdsSecret: true };
    },
  });
}
