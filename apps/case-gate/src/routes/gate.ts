import { AppError, type Problem } from '@sealgate/errors';
import {
  closedObject,
  named,
  routeFor,
  type AuthRequest,
  type BodyTerms,
  type ProblemDecoration,
  type Route,
} from '@sealgate/http';
import { Type } from '@sinclair/typebox';
import { checkEntry, type CheckPorts, type GateLookup, type EntryIds } from '../domain/check-entry.ts';
import { GateAnswer, type GateReason } from '../domain/gate-decision.ts';
import type { GateCaller } from '../domain/key.ts';
import { answerOf, PolicyVersion, SUBJECT_REF, SubjectRef, VENUE_ID, VenueId } from '../schemas.ts';

const route = routeFor<GateCaller>();

const CheckBody = closedObject({
  subject_ref: SubjectRef,
  venue_id: VenueId,
  action: Type.Optional(Type.Literal('enter')),
  policy_version: Type.Optional(PolicyVersion),
  context: Type.Optional(
    Type.Object(
      {},
      { additionalProperties: true, description: 'At most 4096 bytes of JSON; never evaluated, never logged.' },
    ),
  ),
});

export const CONTEXT_MAX_BYTES = 4096;
/** Leaves room for the largest context, however it is escaped. */
const CHECK_MAX_BYTES = 16_384;
/** A slower body is a 408, independent of the gate's deadline. */
const BODY_TERMS = { timeoutMs: 2000 };
export const gateBodyTerms = (): BodyTerms => BODY_TERMS;

/**
 * Looks up the key of a request and the facts about these entries in one round trip.
 * @throws AppError UNAUTHENTICATED; UNAVAILABLE where the database does not answer.
 */
export type LookUpEntries = (
  request: AuthRequest,
  asked: Pick<GateLookup, 'readAtMs'> & { readonly entries: readonly EntryIds[] },
) => Promise<{ readonly caller: GateCaller; readonly prefetched: GateLookup }>;

export interface GatePorts extends CheckPorts {
  readonly lookUpEntries: LookUpEntries;
}

/** `POST /v1/gate/check`: whether a subject may enter a venue now. On any failure the answer is deny. */
export function gateRoutes(ports: GatePorts): Route<GateCaller>[] {
  const check = route({
    method: 'post',
    path: '/v1/gate/check',
    operationId: 'checkGate',
    summary: 'Allow or deny entry; fails closed',
    permit: 'gate:check',
    charge: 1,
    idempotency: 'none',
    body: CheckBody,
    bodyMaxBytes: CHECK_MAX_BYTES,
    bodyTerms: gateBodyTerms,
    prefetch: (request, { value, readAtMs }) => ports.lookUpEntries(request, { entries: entriesOf(value), readAtMs }),
    problem: counted(ports, { members: DenyMembers, decorate: denyProblem }),
    responses: {
      200: { description: 'The decision. It is valid now only and must not be reused.', schema: GateAnswer },
    },
    errors: [],
    async handler(context) {
      const { caller, body, requestId, prefetched } = context;
      requireSmallContext(body.context, '/context');
      const { environment, keyId } = caller;
      const { found, readAtMs } = prefetched;
      const { subject_ref: subjectRef, venue_id: venueId, action = 'enter', policy_version: policyVersion } = body;
      const entry = { environment, subjectRef, venueId, action, policyVersion };
      const decision = checkEntry(ports, { entry, found: found[0], readAtMs, requester: { keyId, requestId } });
      const { decision: outcome, reason_codes: reasons } = decision;
      context.note({ outcome, reason: reasons[0] });
      return { status: 200, body: answerOf(GateAnswer, decision), headers: NO_STORE };
    },
  });
  return [check];
}

const NO_STORE = { 'Cache-Control': 'no-store' };

const subjectPattern = new RegExp(SUBJECT_REF);
const venuePattern = new RegExp(VENUE_ID);

/** The entry that an unchecked body names; none where its ids cannot exist. */
function entriesOf(body: unknown): readonly EntryIds[] {
  if (typeof body !== 'object' || body === null) return [];
  const { subject_ref: subjectRef, venue_id: venueId } = body as Record<string, unknown>;
  return areIds(subjectRef, venueId) ? [{ subjectRef: subjectRef as string, venueId: venueId as string }] : [];
}

/** Whether both match the patterns of their ids. */
export function areIds(subjectRef: unknown, venueId: unknown): boolean {
  if (typeof subjectRef !== 'string' || typeof venueId !== 'string') return false;
  return subjectPattern.test(subjectRef) && venuePattern.test(venueId);
}

/** @throws AppError INVALID_REQUEST for a context of more than 4 KiB. */
export function requireSmallContext(context: unknown, pointer: string): void {
  if (isSmallContext(context)) return;
  throw new AppError('INVALID_REQUEST', 'The context is too large.', {
    faults: [{ in: 'body', pointer, detail: `A context is at most ${CONTEXT_MAX_BYTES} bytes of JSON.` }],
  });
}

export function isSmallContext(context: unknown): boolean {
  return context === undefined || Buffer.byteLength(JSON.stringify(context)) <= CONTEXT_MAX_BYTES;
}

const reasons = {
  reason_codes: Type.Array(Type.String(), { minItems: 1, maxItems: 1 }),
  fail_closed: Type.Boolean(),
};

/** Members of a refusal of the gate, in addition to those of every problem. */
const DenyMembers = named(
  'Denial',
  Type.Object({ decision: Type.Literal('deny'), allow: Type.Literal(false), ...reasons }),
);

/** The same for AuthZEN. */
const FalseMembers = named(
  'AccessDenial',
  Type.Object({ decision: Type.Literal(false), context: Type.Object(reasons) }),
);

/** Maps an error to a reason code of the gate. */
function reasonOf({ status, code }: AppError): string {
  return status === 503 ? 'BACKEND_UNAVAILABLE' : code;
}

/** A check that a failed part refuses is a denial that says nothing about the subject: it is counted like one. */
export function counted({ decided }: Pick<GatePorts, 'decided'>, problem: ProblemDecoration): ProblemDecoration {
  return {
    ...problem,
    decorate(shown, error) {
      if (error.status >= 500) quietly(() => decided({ reason_codes: [failureOf(error)] }));
      return problem.decorate(shown, error);
    },
  };
}

/** What cannot be counted is a denial nevertheless. */
function quietly(count: () => void): void {
  try {
    count();
  } catch {
    // The failure that is being answered is logged.
  }
}

function failureOf({ code }: AppError): GateReason {
  if (code === 'INTERNAL') return 'INTERNAL_ERROR';
  return code === 'OVERLOADED' ? 'OVERLOADED' : 'BACKEND_UNAVAILABLE';
}

/** Adds deny to every refusal on the gate's path, so that no client can mistake it for an allow. */
function denyProblem(problem: Problem, error: AppError): Problem {
  const isOurs = error.status >= 500;
  return { ...problem, decision: 'deny', allow: false, reason_codes: [reasonOf(error)], fail_closed: isOurs };
}

/** The same for AuthZEN. */
export const falseProblem: ProblemDecoration = {
  members: FalseMembers,
  decorate(problem, error) {
    const context = { reason_codes: [reasonOf(error)], fail_closed: error.status >= 500 };
    return { ...problem, decision: false, context };
  },
};
