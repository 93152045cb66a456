import { AppError } from '@sealgate/errors';
import { routeFor, type Route } from '@sealgate/http';
import { Type, type Static, type TSchema } from '@sinclair/typebox';
import { checkEntry, type CheckPorts, type GateDecision, type LookedUp } from '../domain/check-entry.ts';
import type { EntryIds, GateCaller } from '../domain/gate-caller.ts';
import { BODY_MAX_BYTES, Text } from '../schemas.ts';
import { FalseMembers, falseProblem } from './deny-problem.ts';
import { areIds, GATE_BODY_TIMEOUT_MS, requireSmallContext } from './gate.ts';

const route = routeFor<GateCaller>();

/** Members that are not known are ignored, as AuthZEN asks. */
const open = <const Members extends Record<string, TSchema>>(members: Members) =>
  Type.Object(members, { additionalProperties: true });

const Entity = open({ type: Type.String({ minLength: 1 }), id: Type.String({ minLength: 1 }) });
const Action = open({ name: Type.String({ minLength: 1 }) });
const Context = open({});
const EvaluationBody = open({ subject: Entity, action: Action, resource: Entity, context: Type.Optional(Context) });

const parts = {
  subject: Type.Optional(Entity),
  action: Type.Optional(Action),
  resource: Type.Optional(Entity),
  context: Type.Optional(Context),
};
const Semantic = Type.Union([
  Type.Literal('execute_all'),
  Type.Literal('deny_on_first_deny'),
  Type.Literal('permit_on_first_permit'),
]);
const MOST_EVALUATIONS = 50;
const EvaluationsBody = open({
  ...parts,
  options: Type.Optional(open({ evaluations_semantic: Type.Optional(Semantic) })),
  evaluations: Type.Optional(Type.Array(open(parts), { maxItems: MOST_EVALUATIONS })),
});

const Decision = Type.Object({
  decision: Type.Boolean(),
  context: Type.Object({
    decision_id: Text,
    reason_codes: Type.Array(Text),
    fail_closed: Type.Boolean(),
    evaluated_at: Text,
  }),
});
const Decisions = Type.Union([Type.Object({ evaluations: Type.Array(Decision) }), Decision]);

export interface AuthzenPorts extends CheckPorts {
  /** Where the public listener is reached, without a trailing slash. */
  readonly publicUrl: string;
}

const base = {
  method: 'post',
  permit: 'gate:check',
  charge: 1,
  idempotency: 'none',
  bodyMaxBytes: BODY_MAX_BYTES,
  bodyTimeoutMs: GATE_BODY_TIMEOUT_MS,
  wrongMediaType: 'INVALID_HEADER',
  problem: falseProblem,
  problemMembers: FalseMembers,
} as const;

/** The gate in the words of AuthZEN 1.0: the same answers from the same core. */
export function authzenRoutes(ports: AuthzenPorts): Route<GateCaller>[] {
  const evaluation = route({
    ...base,
    path: '/access/v1/evaluation',
    operationId: 'evaluateAccess',
    summary: 'AuthZEN access evaluation',
    body: EvaluationBody,
    lookAhead: (body) => lookable([asQuestion(body)]),
    responses: { 200: { description: 'The decision.', schema: Decision } },
    errors: [],
    async handler({ caller, body, requestId }) {
      return { status: 200, body: evaluate(ports, { caller, requestId, questions: [body] })[0]! };
    },
  });
  const evaluations = route({
    ...base,
    path: '/access/v1/evaluations',
    operationId: 'evaluateAccesses',
    summary: 'AuthZEN access evaluations, 1 to 50, with defaults and the three semantics',
    body: EvaluationsBody,
    lookAhead: (body) => lookable(questionsOf(body)),
    responses: { 200: { description: 'The decisions in order, as far as the semantic goes.', schema: Decisions } },
    errors: [],
    async handler({ caller, body, requestId }) {
      const questions = questionsOf(body);
      requireComplete(questions, isSingle(body));
      const semantic = body.options?.evaluations_semantic ?? 'execute_all';
      const decisions = evaluate(ports, { caller, requestId, questions: questions as Question[], semantic });
      return { status: 200, body: isSingle(body) ? decisions[0]! : { evaluations: decisions } };
    },
  });
  const configuration = route({
    method: 'get',
    path: '/.well-known/authzen-configuration',
    operationId: 'authzenConfiguration',
    summary: 'Where the AuthZEN endpoints are',
    permit: 'open',
    charge: 'none',
    idempotency: 'none',
    responses: {
      200: {
        description: 'AuthZEN metadata.',
        schema: Type.Object({
          policy_decision_point: Text,
          access_evaluation_endpoint: Text,
          access_evaluations_endpoint: Text,
        }),
      },
    },
    errors: [],
    async handler() {
      const { publicUrl } = ports;
      const endpoint = (name: string) => `${publicUrl}/access/v1/${name}`;
      const body = {
        policy_decision_point: publicUrl,
        access_evaluation_endpoint: endpoint('evaluation'),
        access_evaluations_endpoint: endpoint('evaluations'),
      };
      return { status: 200, body };
    },
  });
  return [evaluation, evaluations, configuration];
}

type Question = Static<typeof EvaluationBody>;
/** A question before anybody has checked it. */
type MaybeQuestion = { readonly [Part in keyof Question]?: unknown };

const asQuestion = (body: unknown): MaybeQuestion => (typeof body === 'object' && body !== null ? body : {});

/** Without evaluations the body is one question. */
function isSingle({ evaluations }: { readonly evaluations?: readonly unknown[] | undefined }): boolean {
  return evaluations === undefined || evaluations.length === 0;
}

/** The questions of a body, each with the defaults that stand beside them. */
function questionsOf(body: unknown): MaybeQuestion[] {
  const { evaluations, ...defaults } = asQuestion(body) as MaybeQuestion & { readonly evaluations?: unknown };
  if (!Array.isArray(evaluations) || evaluations.length === 0) return [defaults];
  if (evaluations.length > MOST_EVALUATIONS) return [];
  return evaluations.map((each) => ({ ...defaults, ...asQuestion(each) }));
}

/** @throws AppError INVALID_REQUEST where a question lacks a part that no default gives. */
function requireComplete(questions: readonly MaybeQuestion[], single: boolean): void {
  const faults = questions.flatMap((question, index) =>
    (['subject', 'action', 'resource'] as const)
      .filter((part) => question[part] === undefined)
      .map((part) => ({
        in: 'body' as const,
        pointer: single ? `/${part}` : `/evaluations/${index}/${part}`,
        detail: 'is missing, and no default gives it',
      })),
  );
  if (faults.length > 0) throw new AppError('INVALID_REQUEST', 'An evaluation is not complete.', { faults });
}

/** Undefined where subject or resource is of another kind than ours, or has an id that none can have. */
function idsOf({ subject, resource }: MaybeQuestion): EntryIds | undefined {
  const [who, where] = [subject, resource] as { type?: unknown; id?: unknown }[];
  const isOurs = who?.type === 'subject' && where?.type === 'venue' && areIds(who.id, where.id);
  return isOurs ? { subjectRef: who.id as string, venueId: where.id as string } : undefined;
}

function lookable(questions: readonly MaybeQuestion[]): EntryIds[] {
  return questions.flatMap((question) => idsOf(question) ?? []);
}

/** Nobody of another kind is known here. */
const NOBODY: LookedUp = { isIntact: true, record: undefined, venue: undefined };

interface Evaluations {
  readonly caller: GateCaller;
  readonly requestId: string;
  readonly questions: readonly Question[];
  readonly semantic?: Static<typeof Semantic>;
}

function evaluate(ports: CheckPorts, { caller, requestId, questions, semantic = 'execute_all' }: Evaluations) {
  const { environment, keyId, found, readAtMs } = caller;
  questions.forEach(({ context }, index) =>
    requireSmallContext(context, questions.length === 1 ? '/context' : `/evaluations/${index}/context`),
  );
  const answers: Static<typeof Decision>[] = [];
  let next = 0;
  for (const question of questions) {
    const ids = idsOf(question);
    const facts = ids === undefined ? NOBODY : found[next++];
    const { subject, resource, action } = question;
    const entry = {
      environment,
      subjectRef: subject.id,
      venueId: resource.id,
      action: action.name,
      policyVersion: undefined,
    };
    const decision = checkEntry(ports, { entry, found: facts, readAtMs, asker: { keyId, requestId } });
    answers.push(answerOf(decision));
    if (semantic === 'deny_on_first_deny' && !decision.allow) break;
    if (semantic === 'permit_on_first_permit' && decision.allow) break;
  }
  return answers;
}

function answerOf({ allow, decisionId, reason, failClosed, evaluatedAt }: GateDecision): Static<typeof Decision> {
  const context = {
    decision_id: decisionId,
    reason_codes: [reason],
    fail_closed: failClosed,
    evaluated_at: evaluatedAt.toISOString(),
  };
  return { decision: allow, context };
}
