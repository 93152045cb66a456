import type { Problem as SentProblem } from '@sealgate/client';

/** An error body of any surface (RFC 9457); what came from something between gets a code of its status. */
export type Problem = Omit<SentProblem, 'type'> & { readonly code: string };

/** What a call ended in that was not answered as hoped. `status` 0: no answer came, so the outcome is not known. */
export class ProblemError extends Error {
  readonly problem: Problem;
  readonly status: number;
  readonly requestId: string | undefined;
  /** When the answer said to wait: the time in milliseconds since 1970 from which on to try again. */
  readonly retryAtMs: number | undefined;

  constructor(problem: Problem, facts: { requestId?: string | undefined; retryAtMs?: number | undefined } = {}) {
    super(problem.detail ?? problem.title);
    this.name = 'ProblemError';
    this.problem = problem;
    this.status = problem.status;
    this.requestId = facts.requestId;
    this.retryAtMs = facts.retryAtMs;
  }
}

const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

/** A problem from an answer and its parsed body; a body that is not a problem becomes one that says the status. */
export function problemFrom(response: Response, body: unknown, nowMs: number): ProblemError {
  const members = typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {};
  const detail = text(members['detail']);
  const errors = Array.isArray(members['errors'])
    ? (members['errors'] as NonNullable<SentProblem['errors']>)
    : undefined;
  const problem: Problem = {
    title: text(members['title']) ?? `The service answered ${response.status}`,
    status: response.status,
    code: text(members['code']) ?? `HTTP_${response.status}`,
    ...(detail === undefined ? {} : { detail }),
    ...(errors === undefined ? {} : { errors }),
  };
  const waitSeconds = Number(response.headers.get('Retry-After') ?? 'none');
  return new ProblemError(problem, {
    requestId: response.headers.get('X-Request-Id') ?? undefined,
    retryAtMs: Number.isInteger(waitSeconds) && waitSeconds > 0 ? nowMs + waitSeconds * 1_000 : undefined,
  });
}

/** No answer: whether a change was made is unknown, and the words say so. */
export function unreached(cause: unknown, changed: boolean): ProblemError {
  const outcome = changed ? ' Whether the change was made is not known: look before you send it again.' : '';
  const problem: Problem = {
    title: 'No answer',
    status: 0,
    code: 'NO_ANSWER',
    detail: `The console's server did not answer in time, or the network is away.${outcome}`,
  };
  const error = new ProblemError(problem);
  error.cause = cause;
  return error;
}

/** Any thrown thing as a problem; what is not one is a defect of the page and says so. */
export function asProblem(error: unknown): ProblemError {
  if (error instanceof ProblemError) return error;
  const detail = error instanceof Error ? error.message : String(error);
  return new ProblemError({ title: 'The page failed', status: 0, code: 'PAGE_ERROR', detail });
}
