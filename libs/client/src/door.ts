/** The decision of the gate for one subject at one venue. */
export interface DoorAnswer {
  /** True only if the gate just allowed it. */
  readonly allow: boolean;
  /**
   * The gate's reason code, or why it was not reached: UNREACHABLE, DEADLINE_EXCEEDED, REFUSED, UNREADABLE, NOT_ASKED.
   */
  readonly reason: string;
  /** Id of the check in the gate's decision log, if the gate made one. */
  readonly decisionId?: string;
}

/** Who wants to enter where. */
export interface Visit {
  /** `subj_...` */
  readonly subject: string;
  readonly venue: string;
}

export interface DoorOptions {
  /** Base URL of the case gate, without trailing slash. */
  readonly baseUrl: string;
  /** A `gk_` key with the scope gate:check. */
  readonly key: string;
  /** Timeout of an answer including its body. Default 1,000: the gate answers within 250 ms of the last byte. */
  readonly timeoutMs?: number;
  readonly fetch?: typeof fetch;
}

/** Answers of the gate are below 1 KiB. */
const MAX_ANSWER_LENGTH = 65_536;

/**
 * A policy enforcement point (AuthZEN Authorization API 1.0) that fails closed: it queries the gate each time, caches
 * and retries nothing, never throws, and allows only if a complete 200 answer has `decision: true`.
 */
export function gateDoor(options: DoorOptions): (visit: Visit) => Promise<DoorAnswer> {
  const { baseUrl, key, timeoutMs = 1_000, fetch: send = fetch } = options;
  return async ({ subject, venue }) => {
    const signal = AbortSignal.timeout(timeoutMs);
    try {
      const response = await send(`${baseUrl}/access/v1/evaluation`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
        body: JSON.stringify({
          subject: { type: 'subject', id: subject },
          resource: { type: 'venue', id: venue },
          action: { name: 'enter' },
        }),
        // Do not trust an answer from another address.
        redirect: 'error',
        cache: 'no-store',
        signal,
      });
      const text = await response.text();
      signal.throwIfAborted();
      return response.status === 200 ? answerIn(text) : { allow: false, reason: codeIn(text) ?? 'REFUSED' };
    } catch {
      return { allow: false, reason: signal.aborted ? 'DEADLINE_EXCEEDED' : 'UNREACHABLE' };
    }
  };
}

function answerIn(text: string): DoorAnswer {
  const { decision, context } = objectIn(text);
  const { reason_codes: reasons, decision_id: decisionId } = asObject(context);
  const [reason] = Array.isArray(reasons) ? (reasons as unknown[]) : [];
  return {
    allow: decision === true,
    reason: typeof reason === 'string' ? reason : typeof decision === 'boolean' ? 'UNKNOWN' : 'UNREADABLE',
    ...(typeof decisionId === 'string' && { decisionId }),
  };
}

function codeIn(text: string): string | undefined {
  const { code } = objectIn(text);
  return typeof code === 'string' ? code : undefined;
}

function objectIn(text: string): Record<string, unknown> {
  if (text.length > MAX_ANSWER_LENGTH) return {};
  try {
    return asObject(JSON.parse(text));
  } catch {
    return {};
  }
}

const asObject = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};

/** Extracts subject and venue of a request; undefined or a throw denies without a query. */
export type VisitOf<Request> = (request: Request) => Visit | undefined | Promise<Visit | undefined>;

async function answerFor<Request>(
  request: Request,
  ask: (visit: Visit) => Promise<DoorAnswer>,
  visitOf: VisitOf<Request>,
): Promise<DoorAnswer> {
  try {
    const visit = await visitOf(request);
    return visit === undefined ? { allow: false, reason: 'NOT_ASKED' } : await ask(visit);
  } catch {
    return { allow: false, reason: 'NOT_ASKED' };
  }
}

/** The 403 answer (RFC 9457). The reason is for the log only, not for the visitor. */
const refusal = JSON.stringify({ type: 'about:blank', title: 'Forbidden', status: 403 });
const REFUSAL_TYPE = 'application/problem+json';

/** The part of an Express response that a refusal needs. */
interface ExpressResponse {
  status(code: number): this;
  type(type: string): this;
  send(body: string): unknown;
}

/** Express middleware: calls `next` if allowed, else answers 403. Pass `onAnswer` to log. */
export function expressDoor<Request>(
  ask: (visit: Visit) => Promise<DoorAnswer>,
  visitOf: VisitOf<Request>,
  onAnswer: (answer: DoorAnswer, request: Request) => void = () => undefined,
): (request: Request, response: ExpressResponse, next: () => void) => Promise<void> {
  return async (request, response, next) => {
    const answer = await answerFor(request, ask, visitOf);
    onAnswer(answer, request);
    if (answer.allow) next();
    else response.status(403).type(REFUSAL_TYPE).send(refusal);
  };
}

/** The part of a Fastify reply that a refusal needs. */
interface FastifyReply {
  code(code: number): this;
  type(type: string): this;
  send(body: string): unknown;
}

/** A `preHandler` (or `onRequest`) hook for Fastify; see `expressDoor`. Sending the reply ends the request. */
export function fastifyDoor<Request>(
  ask: (visit: Visit) => Promise<DoorAnswer>,
  visitOf: VisitOf<Request>,
  onAnswer: (answer: DoorAnswer, request: Request) => void = () => undefined,
): (request: Request, reply: FastifyReply) => Promise<unknown> {
  return async (request, reply) => {
    const answer = await answerFor(request, ask, visitOf);
    onAnswer(answer, request);
    return answer.allow ? undefined : reply.code(403).type(REFUSAL_TYPE).send(refusal);
  };
}
