import { AppError } from '@sealgate/errors';
import {
  enumOf,
  isJsonMediaType,
  named,
  routeFor,
  type AuthRequest,
  type RequestNotes,
  type Route,
} from '@sealgate/http';
import { Type, type Static, type TSchema } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import { checkEntry, type CheckPorts, type EntryIds, type GateLookup } from '../domain/check-entry.ts';
import type { GateDecision } from '../domain/gate-decision.ts';
import type { GateCaller } from '../domain/key.ts';
import { BODY_MAX_BYTES, Text } from '../schemas.ts';
import {
  areIds,
  CONTEXT_MAX_BYTES,
  isSmallContext,
  requireSmallContext,
  counted,
  falseProblem,
  gateBodyTerms,
  type GatePorts,
} from './gate.ts';

const route = routeFor<GateCaller>();

/** AuthZEN requires unknown members to be ignored. */
const open = <const Members extends Record<string, TSchema>>(members: Members) =>
  Type.Object(members, { additionalProperties: true });

const properties = Type.Optional(open({}));
const Entity = named(
  'Entity',
  open({ type: Type.String({ minLength: 1 }), id: Type.String({ minLength: 1 }), properties }),
);
const Action = named('Action', open({ name: Type.String({ minLength: 1 }), properties }));
const Context = open({});
const EvaluationBody = named(
  'AccessEvaluation',
  open({ subject: Entity, action: Action, resource: Entity, context: Type.Optional(Context) }),
);
/** Validates the items of a batch: an invalid one is answered in place and does not fail the others. */
const evaluationCheck = TypeCompiler.Compile(EvaluationBody);

const Semantic = enumOf('EvaluationsSemantic', ['execute_all', 'deny_on_first_deny', 'permit_on_first_permit']);
const MAX_EVALUATIONS = 50;
/** Defaults may lack members, as long as each item that they apply to is complete. */
const PartialEntity = named('PartialEntity', open({ ...Type.Partial(Entity).properties }));
const PartialAction = named('PartialAction', open({ ...Type.Partial(Action).properties }));
const defaults = {
  subject: Type.Optional(PartialEntity),
  action: Type.Optional(PartialAction),
  resource: Type.Optional(PartialEntity),
  context: Type.Optional(Context),
};
const batchOf = <Item extends TSchema>(item: Item) =>
  open({
    ...defaults,
    options: Type.Optional(open({ evaluations_semantic: Type.Optional(Semantic) })),
    evaluations: Type.Optional(Type.Array(item, { maxItems: MAX_EVALUATIONS })),
  });
/** Accepts any item: faults of an item are answered in its place. */
const EvaluationsBody = batchOf(Type.Unknown());
const AccessEvaluations = named('AccessEvaluations', batchOf(named('EvaluationItem', open(defaults))));

const Decision = named(
  'AccessDecision',
  Type.Object({
    decision: Type.Boolean(),
    context: named(
      'DecisionContext',
      Type.Object({
        decision_id: Text,
        reason_codes: Type.Array(Text),
        fail_closed: Type.Boolean(),
        evaluated_at: Text,
      }),
    ),
  }),
);
/** Answers an item that cannot be evaluated. */
const FailedItem = named(
  'FailedEvaluation',
  Type.Object({
    decision: Type.Literal(false),
    context: Type.Object({ error: Type.Object({ status: Type.Literal(400), message: Text }) }),
  }),
);
const EvaluatedItem = named('EvaluatedItem', Type.Union([Decision, FailedItem]));
const Decisions = Type.Union([
  named('AccessDecisions', Type.Object({ evaluations: Type.Array(EvaluatedItem) })),
  Decision,
]);

const base = {
  method: 'post',
  permit: 'gate:check',
  charge: 1,
  idempotency: 'none',
  bodyMaxBytes: BODY_MAX_BYTES,
  bodyTerms: gateBodyTerms,
  precheck: refuseOtherMediaType,
  admit: echoRequestId,
} as const;

/** All characters Node allows in a header; bytes above ASCII appear as one character each. */
const ANY_REQUEST_ID = /^[\t\x20-\x7e\x80-\xff]{1,1024}$/;

/** AuthZEN requires an unchanged echo. A repeated or longer id is replaced, like everywhere. */
export function echoRequestId(request: Pick<AuthRequest, 'header'>): Readonly<Record<string, string>> {
  const [id, ...more] = request.header('x-request-id');
  return id !== undefined && more.length === 0 && ANY_REQUEST_ID.test(id) ? { 'X-Request-Id': id } : {};
}

/** AuthZEN knows no 415. The library refuses a repeated header. */
function refuseOtherMediaType({ request }: { readonly request: AuthRequest }): void {
  const [type = '', ...more] = request.header('content-type');
  if (more.length > 0 || isJsonMediaType(type)) return;
  throw new AppError('INVALID_HEADER', 'The body must be sent as application/json in UTF-8.');
}

/** AuthZEN 1.0 endpoints, which decide by the same core as `/v1/gate/check`. */
export function authzenRoutes(ports: GatePorts): Route<GateCaller>[] {
  const problem = counted(ports, falseProblem);
  const evaluation = route({
    ...base,
    problem,
    path: '/access/v1/evaluation',
    operationId: 'evaluateAccess',
    summary: 'AuthZEN access evaluation',
    body: EvaluationBody,
    prefetch: (request, { value, readAtMs }) =>
      ports.lookUpEntries(request, { entries: entriesOf([asQuestion(value)]), readAtMs }),
    responses: { 200: { description: 'The decision.', schema: Decision } },
    errors: [],
    async handler(context) {
      const { caller, body, requestId, prefetched } = context;
      requireSmallContext(body.context, '/context');
      const [answer] = evaluate(ports, { caller, requestId, prefetched, questions: [body] });
      context.note(notesOf(answer!));
      return { status: 200, body: answer! };
    },
  });
  const evaluations = route({
    ...base,
    problem,
    path: '/access/v1/evaluations',
    operationId: 'evaluateAccesses',
    summary: 'AuthZEN access evaluations, 1 to 50, with defaults and the three semantics',
    body: EvaluationsBody,
    describedAs: [{ body: AccessEvaluations }],
    prefetch: (request, { value, readAtMs }) =>
      ports.lookUpEntries(request, { entries: entriesOf(questionsOf(value)), readAtMs }),
    responses: { 200: { description: 'Decisions in order, up to where the semantic stops.', schema: Decisions } },
    errors: [],
    async handler({ caller, body, requestId, prefetched }) {
      requireSmallContext(body.context, '/context');
      const asked = { caller, requestId, prefetched };
      const questions = questionsOf(body);
      if (isSingle(body)) {
        requireComplete(body);
        return { status: 200, body: evaluate(ports, { ...asked, questions })[0]! };
      }
      const semantic = body.options?.evaluations_semantic ?? 'execute_all';
      return { status: 200, body: { evaluations: evaluate(ports, { ...asked, questions, semantic }) } };
    },
  });
  return [evaluation, evaluations];
}

type Question = Static<typeof EvaluationBody>;
/** An evaluation that has not been validated. */
type MaybeQuestion = { readonly [Part in keyof Question]?: unknown };

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const asQuestion = (body: unknown): MaybeQuestion => (isObject(body) ? body : {});

/** A body without evaluations is a single question. */
function isSingle({ evaluations }: { readonly evaluations?: readonly unknown[] | undefined }): boolean {
  return evaluations === undefined || evaluations.length === 0;
}

/**
 * The questions of a body, with its defaults applied. A member of an item replaces the default as a whole. An item that
 * is not an object is undefined, whatever the defaults.
 */
function questionsOf(body: unknown): (MaybeQuestion | undefined)[] {
  const { evaluations, ...defaults } = asQuestion(body) as MaybeQuestion & { readonly evaluations?: unknown };
  if (!Array.isArray(evaluations) || evaluations.length === 0) return [defaults];
  if (evaluations.length > MAX_EVALUATIONS) return [];
  return evaluations.map((each: unknown) => (isObject(each) ? { ...defaults, ...each } : undefined));
}

/** The parts of a question, and the members that each needs. */
const NEEDED = { subject: ['type', 'id'], action: ['name'], resource: ['type', 'id'] } as const;
const PARTS = ['subject', 'action', 'resource'] as const;

/** @throws AppError INVALID_REQUEST where a member of the single question is missing. */
function requireComplete(question: MaybeQuestion): void {
  const missing = PARTS.flatMap((part) => {
    const given = question[part];
    if (!isObject(given)) return [`/${part}`];
    return NEEDED[part].filter((name) => !Object.hasOwn(given, name)).map((name) => `/${part}/${name}`);
  });
  const faults = missing.map((pointer) => ({ in: 'body' as const, pointer, detail: 'is missing' }));
  if (faults.length > 0) throw new AppError('INVALID_REQUEST', 'The evaluation is not complete.', { faults });
}

/** The first fault of a question, in one sentence that does not quote its content. */
function faultOf(question: MaybeQuestion | undefined): string | undefined {
  if (question === undefined) return 'The item is not an object.';
  const missing = PARTS.find((part) => question[part] === undefined);
  if (missing !== undefined) return `${missing} is missing and has no default.`;
  // The path contains names of schema members only, never request content.
  if (!evaluationCheck.Check(question))
    return `${evaluationCheck.Errors(question).First()?.path} is not as documented.`;
  return isSmallContext(question.context) ? undefined : `The context is more than ${CONTEXT_MAX_BYTES} bytes of JSON.`;
}

/** Undefined where subject or resource has another type, or an id that cannot exist. */
function idsOf({ subject, resource }: MaybeQuestion = {}): EntryIds | undefined {
  const [who, where] = [subject, resource] as { type?: unknown; id?: unknown }[];
  const isOurs = who?.type === 'subject' && where?.type === 'venue' && areIds(who.id, where.id);
  return isOurs ? { subjectRef: who.id as string, venueId: where.id as string } : undefined;
}

/** The entries that questions name, in order; a question whose ids cannot exist names none. */
function entriesOf(questions: readonly (MaybeQuestion | undefined)[]): EntryIds[] {
  return questions.flatMap((question) => idsOf(question) ?? []);
}

/** For a subject or resource of another type: not found. */
const NOT_FOUND: GateLookup['found'][number] = {
  isIntact: true,
  isConfirmed: false,
  record: undefined,
  venue: undefined,
};

interface Evaluations {
  readonly caller: GateCaller;
  readonly requestId: string;
  readonly prefetched: GateLookup;
  readonly questions: readonly (MaybeQuestion | undefined)[];
  readonly semantic?: Static<typeof Semantic>;
}

type ItemAnswer = Static<typeof Decision> | Static<typeof FailedItem>;

function evaluate(
  ports: CheckPorts,
  { caller, requestId, prefetched, questions, semantic = 'execute_all' }: Evaluations,
): ItemAnswer[] {
  const { environment, keyId } = caller;
  const { found, readAtMs } = prefetched;
  const answers: ItemAnswer[] = [];
  let next = 0;
  for (const question of questions) {
    const ids = idsOf(question);
    // Every question with valid ids was looked up, whatever else is wrong with it.
    const facts = ids === undefined ? NOT_FOUND : found[next++];
    const answer = answerTo(question, ({ subject, resource, action }) =>
      checkEntry(ports, {
        entry: {
          environment,
          subjectRef: subject.id,
          venueId: resource.id,
          action: action.name,
          policyVersion: undefined,
        },
        found: facts,
        readAtMs,
        requester: { keyId, requestId },
      }),
    );
    answers.push(answer);
    if (semantic === 'deny_on_first_deny' && !answer.decision) break;
    if (semantic === 'permit_on_first_permit' && answer.decision) break;
  }
  return answers;
}

/** A question that cannot be evaluated is a denial, without a check. */
function answerTo(question: MaybeQuestion | undefined, check: (question: Question) => GateDecision): ItemAnswer {
  const message = faultOf(question);
  if (message !== undefined) return { decision: false, context: { error: { status: 400, message } } };
  return answerOf(check(question as Question));
}

/** What the log says of one answer. */
function notesOf({ decision, context }: ItemAnswer): RequestNotes {
  const [reason] = 'reason_codes' in context ? context.reason_codes : [];
  return { outcome: decision ? 'allow' : 'deny', ...(reason === undefined ? {} : { reason }) };
}

function answerOf(decided: GateDecision): Static<typeof Decision> {
  const { allow, decision_id, reason_codes, fail_closed, evaluated_at } = decided;
  return { decision: allow, context: { decision_id, reason_codes, fail_closed, evaluated_at } };
}
