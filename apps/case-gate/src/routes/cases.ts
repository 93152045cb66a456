import type { KeyedHasher } from '@sealgate/auth';
import { AppError } from '@sealgate/errors';
import { closedObject, routeFor, type Reply, type Route } from '@sealgate/http';
import { claimOf, parseIdempotencyKey, type InFlight } from '@sealgate/idempotency';
import { canonical, type JsonValue } from '@sealgate/json';
import { Type } from '@sinclair/typebox';
import { CaseAnswer, CreatedCase, NewCase, type CaseRecord } from '../domain/case-record.ts';
import { changeCase, noCase, settledCase, withdraw, type CaseReadPorts } from '../domain/case-lifetime.ts';
import { changeVenues, createCase, type Actor, type CreateCasePorts } from '../domain/create-case.ts';
import type { GateCaller } from '../domain/key.ts';
import type { RecordOf } from '../domain/model.ts';
import { answerOf, BODY_MAX_BYTES, CaseId, VenueIds } from '../schemas.ts';

const route = routeFor<GateCaller>();

export interface CasesPorts extends Omit<CreateCasePorts, 'render'>, CaseReadPorts {
  readonly inFlight: InFlight<{ readonly body: string; readonly replayed: boolean }>;
  readonly fingerprints: KeyedHasher;
}

const params = Type.Object({ case_id: CaseId });

/** The description of a step that both listeners offer. */
export const createStep = {
  method: 'post',
  idempotency: 'in-transaction',
  summary: 'Create an onboarding case',
  body: NewCase,
  responses: {
    201: { description: 'The case.', schema: CreatedCase, headers: { Location: 'The path of the case.' } },
  },
  errors: ['IDEMPOTENCY_KEY_REQUIRED', 'UNKNOWN_VENUE', 'OUTCOME_UNKNOWN'],
} as const;

export const venuesStep = {
  method: 'put',
  idempotency: 'none',
  summary: 'Set the venues that the subject may enter, before a decision',
  body: closedObject({ venue_ids: VenueIds }),
  responses: { 200: { description: 'The case.', schema: CaseAnswer } },
  errors: ['NOT_FOUND', 'UNKNOWN_VENUE', 'INVALID_STATE_TRANSITION', 'OUTCOME_UNKNOWN'],
} as const;

export const withdrawStep = {
  method: 'post',
  idempotency: 'none',
  summary: 'Withdraw a case before it is decided',
  body: closedObject({}),
  bodyOptional: true,
  responses: { 200: { description: 'The case.', schema: CaseAnswer } },
  errors: ['NOT_FOUND', 'INVALID_STATE_TRANSITION', 'OUTCOME_UNKNOWN'],
} as const;

export function caseRoutes(ports: CasesPorts): Route<GateCaller>[] {
  return [createRoute(ports), readRoute(ports), venuesRoute(ports), withdrawRoute(ports)];
}

function createRoute(ports: CasesPorts): Route<GateCaller> {
  return route({
    ...createStep,
    path: '/v1/cases',
    operationId: 'createCase',
    permit: 'case:write',
    charge: 1,
    bodyMaxBytes: BODY_MAX_BYTES,
    async handler(context) {
      const { environment, familyId, keyId: actor } = context.caller;
      const creator = { environment, actor };
      return createFrom(ports, context, { creator, owner: familyId, casesPath: '/v1/cases' });
    },
  });
}

interface CreateOptions {
  readonly creator: Actor;
  /** The scope of Idempotency-Keys. */
  readonly owner: string;
  readonly casesPath: string;
}

interface CreateRequest {
  readonly body: RecordOf<typeof NewCase>;
  readonly path: string;
  readonly idempotency: { readonly keys: readonly string[] };
}

/**
 * Creates a case, once for each Idempotency-Key of its owner. Concurrent requests of this process share the work.
 * @throws AppError IDEMPOTENCY_KEY_REQUIRED, and what `createCase` throws.
 */
export async function createFrom(
  ports: Omit<CasesPorts, 'readCase'>,
  { body, path, idempotency }: CreateRequest,
  { creator, owner, casesPath }: CreateOptions,
): Promise<Reply> {
  const key = parseIdempotencyKey(idempotency.keys);
  if (key === undefined) throw new AppError('IDEMPOTENCY_KEY_REQUIRED', 'A case needs an Idempotency-Key.');
  const claim = claimOf({
    hasher: ports.fingerprints,
    scope: [creator.environment, owner, 'createCase'],
    key,
    method: 'POST',
    path,
    body: Buffer.from(canonical(body as JsonValue)),
  });
  const work = () => createCase({ ...ports, render: renderNewCase }, creator, { body, claim });
  const { value, joined } = await ports.inFlight.run(claim.claim.toString('latin1'), claim.fingerprint, work);
  const { case_id: caseId } = JSON.parse(value.body) as { case_id: string };
  const headers = { Location: `${casesPath}/${caseId}` };
  const isReplay = joined || value.replayed;
  return { status: 201, body: value.body, headers: isReplay ? { ...headers, ...REPLAYED } : headers };
}

export const REPLAYED = { 'Idempotent-Replayed': 'true' };

const renderNewCase = (record: CaseRecord): string => JSON.stringify(answerOf(CreatedCase, record));

function readRoute(ports: CasesPorts): Route<GateCaller> {
  return route({
    method: 'get',
    path: '/v1/cases/:case_id',
    operationId: 'readCase',
    summary: 'Read the status of a case; no vault data',
    permit: 'case:read',
    charge: 1,
    idempotency: 'none',
    params,
    responses: { 200: { description: 'The case.', schema: CaseAnswer } },
    errors: ['NOT_FOUND'],
    async handler({ caller, params: { case_id: caseId } }) {
      const { environment } = caller;
      const record = await settledCase(ports, environment, caseId);
      if (record === undefined) throw noCase();
      return { status: 200, body: caseAnswer(record) };
    },
  });
}

function venuesRoute(ports: CasesPorts): Route<GateCaller> {
  return route({
    ...venuesStep,
    path: '/v1/cases/:case_id/venues',
    operationId: 'changeVenues',
    permit: 'case:write',
    charge: 1,
    params,
    bodyMaxBytes: BODY_MAX_BYTES,
    async handler({ caller, params: { case_id: caseId }, body }) {
      const { environment, keyId: actor } = caller;
      const record = await changeCase(ports, { environment, caseId }, (tx, locked) =>
        changeVenues(tx, locked, { venueIds: body.venue_ids, actor, at: new Date(ports.now()) }),
      );
      return { status: 200, body: caseAnswer(record) };
    },
  });
}

function withdrawRoute(ports: CasesPorts): Route<GateCaller> {
  return route({
    ...withdrawStep,
    path: '/v1/cases/:case_id/withdraw',
    operationId: 'withdrawCase',
    permit: 'case:write',
    charge: 1,
    params,
    bodyMaxBytes: BODY_MAX_BYTES,
    async handler({ caller, params: { case_id: caseId } }) {
      const { environment, keyId: actor } = caller;
      const record = await changeCase(ports, { environment, caseId }, (tx, locked) =>
        withdraw(tx, locked, { actor, at: new Date(ports.now()) }),
      );
      return { status: 200, body: caseAnswer(record) };
    },
  });
}

export const caseAnswer = (record: CaseRecord) => answerOf(CaseAnswer, record);
