/** What the gate said of one subject at one venue. */
export interface DoorAnswer {
  /** True only where the gate said so itself, just now. */
  readonly allow: boolean;
  /** The gate's reason code, or why it could not be asked: UNREACHABLE, DEADLINE_EXCEEDED, REFUSED, UNREADABLE, NOT_ASKED. */
  readonly reason: string;
  /** Names the check in the gate's log of decisions, where the gate made one. */
  readonly decisionId?: string;
}

/** Who wants to enter where. */
export interface Visit {
  /** `subj_...` */
  readonly subject: string;
  readonly venue: string;
}

export interface DoorOptions {
  /** Where the case gate is reached, without trailing slash. */
  readonly baseUrl: string;
  /** A `gk_` key with the scope gate:check. */
  readonly key: string;
  /** How long an answer may take, its body included. Default 1,000: the gate answers within 250 ms of the last byte. */
  readonly timeoutMs?: number;
  readonly fetch?: typeof fetch;
}

/** An answer of the gate is below 1 KiB. */
const LONGEST_ANSWER = 65_536;

/**
 * A policy enforcement point (AuthZEN Authorization API 1.0) that can only fail shut: asks the gate each time, keeps no
 * answer, sends nothing twice, never throws, and allows only what a whole answer of 200 says in `decision: true`.
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
        // An answer of another address is nobody's.
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
  if (text.length > LONGEST_ANSWER) return {};
  try {
    return asObject(JSON.parse(text));
  } catch {
    return {};
  }
}

const asObject = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};

/** Says who a request is of, and for which venue; undefined, or a throw, keeps it out without asking. */
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

/** What somebody is told who may not enter (RFC 9457). The reason is for the log of the door, not for who stands before it. */
const refusal = JSON.stringify({ type: 'about:blank', title: 'Forbidden', status: 403 });
const REFUSAL_TYPE = 'application/problem+json';

/** As much of an Express response as a refusal needs. */
interface ExpressResponse {
  status(code: number): this;
  type(type: string): this;
  send(body: string): unknown;
}

/**
 * Middleware for Express: calls `next` for who may enter, answers 403 to everybody else. Pass `onAnswer` to log.
 */
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

/** As much of a Fastify reply as a refusal needs. */
interface FastifyReply {
  code(code: number): this;
  type(type: string): this;
  send(body: string): unknown;
}

/** A `preHandler` (or `onRequest`) hook for Fastify; see `expressDoor`. A reply that was sent ends the request there. */
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
