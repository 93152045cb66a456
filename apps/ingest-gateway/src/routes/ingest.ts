import { AppError, type ErrorCode } from '@sealgate/errors';
import {
  CallerChangedError,
  double,
  lineOfText,
  named,
  openObject,
  routeFor,
  type RequestNotes,
  type Route,
} from '@sealgate/http';
import { StaleGuardError } from '@sealgate/ledger-port';
import { Type, type TSchema } from '@sinclair/typebox';
import { renderPing, type AnswerWrite } from '../domain/answer-write.ts';
import type { IngestCaller } from '../domain/caller.ts';
import type { ReadBody } from '../domain/read-body.ts';
import { RECORD_LIMITS, type SubmissionLimits } from '../domain/read-submission.ts';
import { mayUse } from '../ingest-guard.ts';
import { RecordReceipt } from '../schemas.ts';

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
  readonly limits: SubmissionLimits;
  readonly bodyMaxBytes: number;
  /** Reads a body on the main thread, or in the reading thread where it would delay others. */
  readonly read: ReadBody;
  /** Called with the code of every refusal on the path. */
  readonly onRefusal: (code: ErrorCode) => void;
}

/** `POST /{networkId}`: a ping, a record, a batch or bare JSON. The order of the checks is part of the contract. */
export function ingestRoutes(ports: IngestPorts): Route<IngestCaller>[] {
  const pingMaxBytes = Math.min(PING_MAX_BYTES, ports.bodyMaxBytes);
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
    mediaTypes: ['application/json', '+json'],
    describedAs: [{ body: documentedBody(ports.limits) }],
    bodyMaxBytes: ports.bodyMaxBytes,
    bodyTerms: ({ caller: { grants } }) => (mayUse(grants, 'ingest:write') ? {} : { maxBytes: pingMaxBytes }),
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
      // The same detail for a foreign, an unknown and a malformed network, so a key learns nothing about others.
      if (params.networkId !== caller.networkId) throw new AppError('FORBIDDEN', 'The key is not for this network.');
      if (caller.grants.permissions?.length === 0) throw new AppError('FORBIDDEN', 'The key has no permission.');
    },
    problem: {
      decorate(problem, error) {
        ports.onRefusal(error.code);
        return problem;
      },
    },
    async handler(context) {
      const { caller, rawBody, requestId } = context;
      const { record, defaultType } = caller.grants;
      const rules = { record, defaultType, limits: ports.limits };
      const submission = await ports.read(rawBody, rules, caller.networkId);
      if (submission.kind === 'ping') {
        await context.confirmCaller();
        context.permit('ingest:ping');
        await context.charge(1);
        const eventId = ports.recordPing(caller, requestId);
        context.note({ outcome: 'ping', eventId });
        return { status: 200, body: renderPing(eventId) };
      }
      const { records, strippedFields } = submission;
      context.permit('ingest:write');
      context.note({ records: records.length, ...(strippedFields === 0 ? {} : { strippedFields }) });
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
      context.note(writeNotes(answer));
      return { status: 200, body: answer.body, ...(answer.replayed ? { headers: REPLAYED } : {}) };
    },
  });
  return [ingest];
}

/** Above the size of any ping; the limit for a key that may only ping. */
const PING_MAX_BYTES = 4096;

const REPLAYED = { 'Idempotent-Replayed': 'true' };

/** What the log says of a write. */
function writeNotes(answer: {
  readonly replayed: boolean;
  readonly eventId: string;
  readonly transactionId: string | undefined;
}): RequestNotes {
  const { replayed, eventId, transactionId } = answer;
  return {
    outcome: replayed ? 'replayed' : 'written',
    eventId,
    ...(transactionId === undefined ? {} : { transactionId }),
    ...(replayed ? { replayed } : {}),
  };
}

/** The cached caller is stale: it is looked up, and the request is served again. */
export function servedAgain(error: unknown): never {
  throw error instanceof StaleGuardError ? new CallerChangedError(error.message, { cause: error }) : error;
}

/** The four forms of a body, only for the OpenAPI description: `read-submission.ts` does the parsing and checks. */
function documentedBody({ maxBatchRecords }: SubmissionLimits): TSchema {
  const { idMaxCodePoints, typeMaxCodePoints, ownerMaxCodePoints, maxChannels } = RECORD_LIMITS;
  const Ping = named(
    'Ping',
    Type.Object(
      { type: Type.Literal('ping') },
      { description: 'Tests the key; writes nothing to the ledger. Other members are ignored.' },
    ),
  );
  const IngestRecord = named(
    'IngestRecord',
    Type.Object(
      {
        id: Type.Optional({
          ...lineOfText({ min: 1, max: idMaxCodePoints }),
          description: 'Not `.` or `..`. Generated where absent.',
        }),
        type: Type.Optional({ ...lineOfText({ min: 1, max: typeMaxCodePoints }), default: 'unknown' }),
        owner: Type.Optional(lineOfText({ min: 1, max: ownerMaxCodePoints })),
        data: Type.Optional(openObject({ description: 'Where absent, the other members are the data.' })),
        targetChannels: Type.Optional(
          Type.Array(Type.String(), {
            minItems: 1,
            maxItems: maxChannels,
            uniqueItems: true,
            description: 'Names of channels of the network; its first channel where absent.',
          }),
        ),
      },
      {
        additionalProperties: true,
        description:
          'One record. For a key minted with `record: "whole"`, any object that is neither a ping nor a batch: it is stored ' +
          'as it is, whatever its members are.',
      },
    ),
  );
  // One schema per type: generated Go clients have no type for a schema with a list of types.
  const BareJson = named(
    'BareJson',
    Type.Union(
      [Type.Array(Type.Any({ description: 'Any JSON.' })), Type.String(), double(), Type.Boolean(), Type.Null()],
      { description: 'Anything but an object is written as `{"value": ...}`.' },
    ),
  );
  const BatchItem = named('BatchItem', Type.Union([IngestRecord, BareJson]));
  const IngestBatch = named(
    'IngestBatch',
    Type.Object(
      {
        assets: Type.Array(BatchItem, {
          minItems: 1,
          maxItems: maxBatchRecords,
          description: 'Ids are distinct.',
        }),
      },
      { additionalProperties: false, description: 'Records that are written together.' },
    ),
  );
  return Type.Union([Ping, IngestRecord, IngestBatch, BareJson]);
}
