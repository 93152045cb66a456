import { AppError } from '@sealgate/errors';
import { closedObject, type Reply, type RequestNotes, type Route, routeFor } from '@sealgate/http';
import { defined, type JsonValue } from '@sealgate/json';
import { enumOf } from '@sealgate/schemas';
import { Type } from '@sinclair/typebox';
import { ActionBody, ActionResult, answerAction } from '../domain/answer-action.ts';
import { outcomeOf, type AnswerSync, type SyncAnswer } from '../domain/answer-sync.ts';
import {
  AssetHistory,
  AssetId,
  AssetPage,
  AssetQuery,
  AssetType,
  FabricProvedAsset,
  MAX_ASSETS,
  NewAssets,
  ReadAsset,
} from '../domain/asset.ts';
import { FAILURE_CODES_TEXT, Summary } from '../domain/asset-result.ts';
import { signedBy } from '../domain/asset-ledger.ts';
import { CALLS_LEDGER, type PeerCaller } from '../domain/caller.ts';
import { AcceptedJob } from '../domain/jobs.ts';
import { ProvedAsset } from '../domain/public-log.ts';
import { proveAsset, queryAssets, readAsset, type ReadAssetsPorts } from '../domain/read-assets.ts';
import { readHistory } from '../domain/read-history.ts';

const route = routeFor<PeerCaller>();

const LARGE_BODY_BYTES = 131_072;
/** Why the ledger cannot be read now. */
const OUTAGES = ['LEDGER_UNAVAILABLE', 'RECORD_ARCHIVED'] as const;
/** Of a contract that answered, but with nothing to pass on. */
const ANSWERS = ['CONTRACT_REFUSED', 'UNREADABLE_ANSWER'] as const;
const RESPOND_ASYNC = '`respond-async` (RFC 7240): return a job at once, and write afterwards.';
const JobOrPending = Type.Union([Summary, AcceptedJob]);
const JOB_HEADERS = {
  Location: 'The path of the job.',
  'Preference-Applied': '`respond-async`, if it was requested.',
};
const ReadQuery = closedObject({
  type: Type.Optional(AssetType),
  proof: Type.Optional(
    enumOf('AssetProof', ['true', 'block'], {
      description:
        '`true`: also return the receipt and the proof: inclusion in the public log or, on Fabric, what peers sign now. ' +
        '`block`: on Fabric, with the whole block of the transaction, which shows its neighbours.',
    }),
  ),
});

export interface AssetsPorts {
  readonly answerSync: AnswerSync;
  readonly reading: ReadAssetsPorts;
  readonly bodyMaxBytes: number;
  /** Resolves in a later turn of the event loop. */
  readonly nextTurn: () => Promise<void>;
}

/** Routes that write and read assets. */
export function assetRoutes(ports: AssetsPorts): Route<PeerCaller>[] {
  return [syncRoute(ports), queryRoute(ports), readRoute(ports), historyRoute(ports), actionRoute(ports)];
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
    permit: CALLS_LEDGER,
    charge: 1,
    idempotency: 'in-transaction',
    body: NewAssets,
    bodyMaxBytes,
    requestHeaders: { Prefer: RESPOND_ASYNC },
    inspect: refuseLargeBatch,
    responses: {
      200: {
        description: `The result of each asset; all of them may have failed, each with its own code.\n${FAILURE_CODES_TEXT}`,
        schema: Summary,
      },
      202: {
        description: `A job: for respond-async, or for assets that are pending.\n${FAILURE_CODES_TEXT}`,
        schema: JobOrPending,
        headers: JOB_HEADERS,
      },
    },
    errors: ['BATCH_TOO_LARGE', 'UNKNOWN_CHAINCODE', 'LEDGER_UNAVAILABLE', 'OUTCOME_UNKNOWN', 'OVERLOADED'],
    async handler(context) {
      // A large body takes several turns of the event loop: parsed in one, sorted into batches in the next.
      if (context.rawBody.length > LARGE_BODY_BYTES) await nextTurn();
      const { body, rawBody } = context;
      const answer = await answerSync({ ...orderOf(context), body, rawBody });
      context.note({ records: context.body.assets.length, ...notesOf(answer) });
      return replyOf(answer);
    },
  });
}

/** What every write is answered by, besides its content. */
function orderOf(context: {
  readonly caller: PeerCaller;
  readonly header: (name: string) => string | undefined;
  readonly idempotency: { readonly keys: readonly string[] };
  readonly method: string;
  readonly path: string;
}) {
  return {
    caller: context.caller,
    prefersAsync: prefersAsync(context.header('prefer')),
    idempotencyKeys: context.idempotency.keys,
    method: context.method,
    path: context.path,
  };
}

/** Reads are signed, too. */
const readingFor = (reading: ReadAssetsPorts, { identity }: PeerCaller): ReadAssetsPorts => ({
  ...reading,
  ledger: signedBy(reading.ledger, identity),
});

/** Checked before the schema: validating so many assets would be wasted. */
function refuseLargeBatch(body: JsonValue): void {
  const assets = body !== null && typeof body === 'object' && !Array.isArray(body) ? body['assets'] : undefined;
  if (Array.isArray(assets) && assets.length > MAX_ASSETS) {
    throw new AppError('BATCH_TOO_LARGE', `A request may hold at most ${MAX_ASSETS} assets.`);
  }
}

/** The ids of transactions are ours. A text of a client has its quotes escaped, so it cannot look like this member. */
const FIRST_TRANSACTION = /"transactionIds":\["([\w-]+)"/;

/** What the log says of a write. */
function notesOf(answer: SyncAnswer): RequestNotes {
  const [, transactionId] = FIRST_TRANSACTION.exec(answer.body) ?? [];
  return defined({ outcome: outcomeOf(answer), transactionId, replayed: answer.replayed || undefined });
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
    permit: CALLS_LEDGER,
    charge: 1,
    idempotency: 'none',
    looks: true,
    body: AssetQuery,
    bodyMaxBytes,
    responses: { 200: { description: 'A page.', schema: AssetPage } },
    errors: ['INVALID_LIMIT', 'INVALID_CURSOR', 'UNKNOWN_CHAINCODE', ...ANSWERS, 'OVERLOADED', ...OUTAGES],
    async handler({ caller, body }) {
      return { status: 200, body: await queryAssets(readingFor(reading, caller), body) };
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
    permit: CALLS_LEDGER,
    charge: 1,
    idempotency: 'none',
    params: Type.Object({ id: AssetId }),
    query: ReadQuery,
    responses: {
      200: {
        description: 'The asset; with `proof` with its receipt and proof.',
        schema: Type.Union([ReadAsset, ProvedAsset, FabricProvedAsset]),
      },
    },
    errors: ['NOT_FOUND', 'UNKNOWN_CHAINCODE', ...ANSWERS, ...OUTAGES],
    async handler({ caller, params: { id }, query: { type, proof } }) {
      const ports = readingFor(reading, caller);
      if (proof === undefined) return { status: 200, body: await readAsset(ports, id, type) };
      return { status: 200, body: await proveAsset(ports, id, { type, proof }), holdsSecret: true };
    },
  });
}

function historyRoute({ reading }: AssetsPorts): Route<PeerCaller> {
  return route({
    method: 'get',
    path: '/api/assets/:id/history',
    operationId: 'readAssetHistory',
    summary: 'List the changes of an asset as its chaincode returns them',
    description:
      'For types whose mapping has a `history`. `type` may be omitted if a single mapping has one. A contract that ' +
      'knows no change of the asset returns an empty list.',
    permit: CALLS_LEDGER,
    charge: 1,
    idempotency: 'none',
    looks: true,
    params: Type.Object({ id: AssetId }),
    query: closedObject({ type: Type.Optional(AssetType) }),
    responses: { 200: { description: 'The changes, in the order of the contract.', schema: AssetHistory } },
    errors: ['NOT_FOUND', 'UNKNOWN_CHAINCODE', ...ANSWERS, 'OVERLOADED', ...OUTAGES],
    async handler({ caller, params: { id }, query: { type } }) {
      return { status: 200, body: await readHistory(readingFor(reading, caller), id, type) };
    },
  });
}

function actionRoute({ answerSync, reading, bodyMaxBytes }: AssetsPorts): Route<PeerCaller> {
  return route({
    method: 'post',
    path: '/api/assets/:id/actions/:name',
    operationId: 'runAction',
    summary: 'Run an action of the mapping on an asset',
    description:
      'One transaction, exactly once under an Idempotency-Key, which is required unless the mapping writes an id once. ' +
      '`type` may be omitted if a single type has the action. While the outcome is unknown, and with ' +
      '`Prefer: respond-async`, the response is a job, whose result is a summary of one asset.',
    permit: CALLS_LEDGER,
    charge: 1,
    idempotency: 'in-transaction',
    params: Type.Object({ id: AssetId, name: Type.String() }),
    query: closedObject({ type: Type.Optional(AssetType) }),
    body: ActionBody,
    bodyOptional: true,
    bodyMaxBytes,
    requestHeaders: { Prefer: RESPOND_ASYNC },
    responses: {
      200: { description: 'The transaction is in a block and valid.', schema: ActionResult },
      202: {
        description: 'A job: for respond-async, or a pending outcome.',
        schema: JobOrPending,
        headers: JOB_HEADERS,
      },
    },
    errors: [
      ...(['NOT_FOUND', 'IDEMPOTENCY_KEY_REQUIRED', 'UNKNOWN_CHAINCODE', 'CONTRACT_REFUSED'] as const),
      ...(['LEDGER_UNAVAILABLE', 'OUTCOME_UNKNOWN', 'OVERLOADED'] as const),
    ],
    async handler(context) {
      const answer = await answerAction({ answerSync, mappings: reading.mappings })({
        ...orderOf(context),
        id: context.params.id,
        action: context.params.name,
        type: context.query.type,
        data: context.body.data ?? {},
      });
      context.note(notesOf(answer));
      return replyOf(answer);
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
