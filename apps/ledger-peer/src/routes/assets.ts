import { AppError } from '@sealgate/errors';
import { closedObject, lineOfText, named, type Reply, type Route, routeFor } from '@sealgate/http';
import { defined, type JsonValue } from '@sealgate/json';
import { Type } from '@sinclair/typebox';
import type { AnswerSync, SyncAnswer } from '../domain/answer-sync.ts';
import type { PeerCaller } from '../domain/caller.ts';
import { proveAsset, queryAssets, readAsset, type ReadAssetsPorts } from '../domain/read-assets.ts';
import { DEFAULT_BATCH_SIZE } from '../domain/run-job.ts';
import { AcceptedJob, AnyJson, FAILURE_CODES_TEXT, Proof, Receipt, Summary } from './schemas.ts';

const route = routeFor<PeerCaller>();

const MAX_ASSETS = 1000;
const LARGE_BODY_BYTES = 131_072;
/** Why the ledger cannot be read now. */
const OUTAGES = ['LEDGER_UNAVAILABLE', 'RECORD_ARCHIVED'] as const;
const QUERY_LIMIT = { default: 100, max: 1000 } as const;

/** Control characters, in a class of a pattern. */
const CONTROLS = '\\x00-\\x1f\\x7f';
/** A lookahead would be shorter, but RE2 has none. */
const AssetId = Type.String({
  minLength: 1,
  maxLength: 256,
  pattern: `^(?:[^.${CONTROLS}]|\\.(?:[^.${CONTROLS}]|\\.[^${CONTROLS}]))[^${CONTROLS}]*$`,
  description: 'Not `.` or `..`, which cannot be a path segment.',
});
const AssetType = lineOfText({ min: 1, max: 128 });

const SyncBody = closedObject({
  assets: Type.Array(
    named(
      'Asset',
      closedObject({ id: AssetId, type: AssetType, data: AnyJson({ type: 'object', additionalProperties: true }) }),
    ),
    {
      minItems: 1,
      maxItems: MAX_ASSETS,
    },
  ),
  options: Type.Optional(
    closedObject({
      batchSize: Type.Optional(
        Type.Integer({ minimum: 1, maximum: 500, default: DEFAULT_BATCH_SIZE, description: 'Assets per batch.' }),
      ),
      continueOnError: Type.Optional(
        Type.Boolean({ default: false, description: 'Whether batches after one with a failed asset are sent.' }),
      ),
    }),
  ),
});

const QueryBody = closedObject({
  type: AssetType,
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: QUERY_LIMIT.max, default: QUERY_LIMIT.default })),
  cursor: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 4096,
      pattern: '^[A-Za-z0-9_-]+$',
      description: 'nextCursor of the previous page.',
    }),
  ),
});

const ReadQuery = Type.Object(
  {
    type: Type.Optional(lineOfText({ min: 1, max: 128 })),
    proof: Type.Optional(Type.Literal('true', { description: 'Also return the receipt and the inclusion proof.' })),
  },
  { additionalProperties: false },
);

const AsRead = AnyJson({ description: 'Output of the read query of the contract.' });
const Proved = named(
  'ProvedAsset',
  Type.Object({ asset: AsRead, receipt: Receipt, proof: Proof }, { description: 'With `proof=true`.' }),
);

const Page = named(
  'AssetPage',
  Type.Object({
    assets: Type.Array(AsRead),
    count: Type.Integer({ description: 'Number of assets in this page.' }),
    nextCursor: Type.Union([Type.String(), Type.Null()], { description: 'null exactly on the last page.' }),
  }),
);

export interface AssetsPorts {
  readonly answerSync: AnswerSync;
  readonly reading: ReadAssetsPorts;
  readonly bodyMaxBytes: number;
  /** Resolves in a later turn of the event loop. */
  readonly nextTurn: () => Promise<void>;
}

/** Routes that write and read assets. */
export function assetRoutes(ports: AssetsPorts): Route<PeerCaller>[] {
  return [syncRoute(ports), queryRoute(ports), readRoute(ports)];
}

function syncRoute({ answerSync, bodyMaxBytes, nextTurn }: AssetsPorts): Route<PeerCaller> {
  return route({
    method: 'post',
    path: '/api/assets',
    operationId: 'syncAssets',
    summary: 'Write assets to the chaincode mapped for their types',
    description:
      'Each asset has its own result: succeeded, failed, or pending while its outcome is unknown. `Prefer: respond-async` ' +
      'returns a job at once. The same Idempotency-Key and body get the same response for 30 days.',
    permit: 'authenticated',
    charge: 1,
    idempotency: 'in-transaction',
    body: SyncBody,
    bodyMaxBytes,
    requestHeaders: { Prefer: '`respond-async` (RFC 7240): return a job at once, and write afterwards.' },
    inspect: refuseLargeBatch,
    responses: {
      200: {
        description: `The result of each asset; all of them may have failed, each with its own code.\n${FAILURE_CODES_TEXT}`,
        schema: Summary,
      },
      202: {
        description: `A job: for respond-async, or for assets that are pending.\n${FAILURE_CODES_TEXT}`,
        schema: Type.Union([Summary, AcceptedJob]),
        headers: {
          Location: 'The path of the job.',
          'Preference-Applied': '`respond-async`, if it was requested.',
        },
      },
    },
    errors: ['BATCH_TOO_LARGE', 'UNKNOWN_CHAINCODE', 'LEDGER_UNAVAILABLE', 'OUTCOME_UNKNOWN', 'OVERLOADED'],
    async handler(context) {
      const { assets, options = {} } = context.body;
      // A large body takes several turns of the event loop: parsed in one, sorted into batches in the next.
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

/** Checked before the schema: validating so many assets would be wasted. */
function refuseLargeBatch(body: JsonValue): void {
  const assets = body !== null && typeof body === 'object' && !Array.isArray(body) ? body['assets'] : undefined;
  if (Array.isArray(assets) && assets.length > MAX_ASSETS) {
    throw new AppError('BATCH_TOO_LARGE', `A request may hold at most ${MAX_ASSETS} assets.`);
  }
}

function replyOf({ status, body, jobId, isAsync, replayed }: SyncAnswer): Reply {
  const headers = defined({
    Location: status === 202 ? `/api/jobs/${jobId}` : undefined,
    'Preference-Applied': isAsync ? 'respond-async' : undefined,
    'Idempotent-Replayed': replayed ? 'true' : undefined,
  });
  return { status, body, headers };
}

function queryRoute({ reading, bodyMaxBytes }: AssetsPorts): Route<PeerCaller> {
  return route({
    method: 'post',
    path: '/api/assets/query',
    operationId: 'queryAssets',
    summary: 'List the assets of a type by id, in code point order',
    description:
      'A page may hold fewer than `limit` assets if they are large; only `nextCursor` says whether it is the last.',
    permit: 'authenticated',
    charge: 1,
    idempotency: 'none',
    body: QueryBody,
    bodyMaxBytes,
    responses: { 200: { description: 'A page.', schema: Page } },
    errors: ['INVALID_LIMIT', 'INVALID_CURSOR', 'UNKNOWN_CHAINCODE', 'UNREADABLE_ANSWER', 'OVERLOADED', ...OUTAGES],
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
      'Without `type` the mapped contracts are queried in the order of the mapping file. A record of a type that is not ' +
      'mapped to the place where it was found is 404, whatever `type` says.',
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
    errors: ['NOT_FOUND', 'UNKNOWN_CHAINCODE', 'UNREADABLE_ANSWER', ...OUTAGES],
    async handler({ params: { id }, query: { type, proof } }) {
      if (proof !== 'true') return { status: 200, body: await readAsset(reading, id, type) };
      return { status: 200, body: await proveAsset(reading, id, type), holdsSecret: true };
    },
  });
}

/**
 * Whether a Prefer header asks not to wait (RFC 7240, section 4.1). Preferences are separated by commas and
 * case-insensitive; values and parameters are ignored, and so are unknown preferences.
 */
export function prefersAsync(prefer: string | undefined): boolean {
  if (prefer === undefined) return false;
  return prefer.split(',').some((preference) => /^[\t ]*respond-async[\t ]*(?:[;=]|$)/i.test(preference));
}
