import { AppError, type ErrorCode } from '@sealgate/errors';
import { CallerChangedError, named, routeFor, type Route } from '@sealgate/http';
import { StaleGuardError } from '@sealgate/ledger-port';
import { Type } from '@sinclair/typebox';
import type { IngestCaller } from '../domain/caller.ts';
import { checkChannels, mayUse, refusedType } from '../domain/key-grants.ts';
import type { ReadBody } from '../domain/read-submission.ts';
import { renderPing, type AnswerWrite } from '../domain/answer-write.ts';
import { bodyForms } from './body-forms.ts';
import { RecordReceipt } from './record-receipt.ts';

const route = routeFor<IngestCaller>();

const Summary = named(
  'WriteSummary',
  Type.Object({ total: Type.Integer(), succeeded: Type.Integer(), failed: Type.Integer() }),
);

const Written = named(
  'IngestAnswer',
  Type.Object({
    transactionIds: Type.Array(Type.String(), { description: 'Distinct, in the order of the records.' }),
    summary: Summary,
    eventId: Type.String(),
    records: Type.Array(RecordReceipt, {
      description: 'One for each record and channel, in record order, then by channel.',
    }),
    strippedFields: Type.Integer({
      minimum: 0,
      description: 'How many sensitive members were removed before the write.',
    }),
  }),
);

const Pinged = named(
  'PingAnswer',
  Type.Object({
    ping: Type.Literal(true),
    transactionIds: Type.Array(Type.String()),
    summary: Summary,
    eventId: Type.String(),
  }),
);

const Answer = Type.Union([Written, Pinged]);

export interface IngestPorts {
  readonly answerWrite: AnswerWrite;
  readonly recordPing: (caller: IngestCaller, requestId: string) => string;
  readonly maxBatchRecords: number;
  readonly bodyMaxBytes: number;
  /** Reads a body here, or elsewhere than on the main thread where it would hold up others. */
  readonly read: ReadBody;
  /** Told the code of every refusal on the path. */
  readonly onRefusal: (code: ErrorCode) => void;
}

/** `POST /{networkId}`: a ping, a record, a batch or bare JSON. The order of the checks is the contract's. */
export function ingestRoutes(ports: IngestPorts): Route<IngestCaller>[] {
  const ingest = route({
    method: 'post',
    path: '/:networkId',
    operationId: 'ingest',
    summary: 'Write a record or a batch, or ping',
    description:
      'An object with `assets` is a batch, one with `type` exactly "ping" a ping, any other object a record, and ' +
      'everything else is wrapped as `{"value": ...}`. See the README of the surface.',
    permit: 'byHandler',
    charge: 'byHandler',
    idempotency: 'in-ledger',
    query: 'ignored',
    confirmsCaller: true,
    body: 'json-bytes',
    jsonSuffix: true,
    bodyForms: bodyForms(ports.maxBatchRecords),
    bodyMaxBytes: ports.bodyMaxBytes,
    bodyMaxBytesOf: ({ grants }) =>
      mayUse(grants, 'ingest:write') ? ports.bodyMaxBytes : Math.min(PING_MAX_BYTES, ports.bodyMaxBytes),
    responses: { 200: { description: 'Written, or written before: each record with its receipt.', schema: Answer } },
    errors: [
      'INVALID_REQUEST',
      'BATCH_TOO_LARGE',
      'ASSET_TYPE_NOT_ALLOWED',
      'UNKNOWN_CHANNEL',
      'INVALID_IDEMPOTENCY_KEY',
      'IDEMPOTENCY_KEY_REUSED',
      'IDEMPOTENCY_IN_PROGRESS',
      'RECORD_CONFLICT',
      'LEDGER_UNAVAILABLE',
      'OUTCOME_UNKNOWN',
      'OVERLOADED',
    ],
    precheck({ caller, params }) {
      // The same words for a foreign, an unknown and a malformed network: a key learns nothing about others.
      if (params.networkId !== caller.networkId) throw new AppError('FORBIDDEN', 'The key is not for this network.');
      if (caller.grants.permissions?.length === 0) throw new AppError('FORBIDDEN', 'The key has no permission.');
    },
    problem(problem, error) {
      ports.onRefusal(error.code);
      return problem;
    },
    async handler(context) {
      const { caller, rawBody, requestId } = context;
      const { record, defaultType } = caller.grants;
      const rules = { record, defaultType, maxBatchRecords: ports.maxBatchRecords };
      const submission = await ports.read(rawBody, rules, caller.networkId);
      if (submission.kind === 'ping') {
        await context.confirmCaller();
        context.permit('ingest:ping');
        await context.charge(1);
        return { status: 200, body: renderPing(ports.recordPing(caller, requestId)) };
      }
      const { records, strippedFields } = submission;
      context.permit('ingest:write');
      checkTypes(caller, records);
      checkChannels(records, caller.channels);
      const answer = await ports
        .answerWrite({
          caller,
          requestId,
          records,
          strippedFields,
          idempotencyKeys: context.idempotency.keys,
          path: context.path,
          rawBody,
          guard: context.isProvisional ? caller.guard : undefined,
          charge: () => context.charge(Math.max(1, records.length)),
          confirmCaller: () => context.confirmCaller(),
        })
        .catch(servedAgain);
      if (answer.confirmed) context.callerIsConfirmed();
      context.note({ records: records.length });
      return { status: 200, body: answer.body, ...(answer.replayed ? { headers: REPLAYED } : {}) };
    },
  });
  return [ingest];
}

/** More than any ping needs; a key that may only ping sends no more. */
const PING_MAX_BYTES = 4096;

const REPLAYED = { 'Idempotent-Replayed': 'true' };

function servedAgain(error: unknown): never {
  throw error instanceof StaleGuardError ? new CallerChangedError(error.message, { cause: error }) : error;
}

function checkTypes(caller: IngestCaller, records: readonly { type: string }[]): void {
  const refused = refusedType(
    caller.grants,
    records.map(({ type }) => type),
  );
  if (refused !== undefined) {
    throw new AppError('ASSET_TYPE_NOT_ALLOWED', 'The key may not write records of a type that is in the request.');
  }
}
