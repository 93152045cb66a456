import type { Problem as SentProblem } from '@sealgate/client';
import * as texts from './texts.ts';

/** An error body of any surface (RFC 9457); a response from an intermediary gets a code from its status. */
type Problem = Omit<SentProblem, 'type'> & { readonly code: string };

/** A failed call. `status` 0: no response, so the outcome is unknown. */
export class ProblemError extends Error {
  readonly problem: Problem;
  readonly status: number;
  readonly requestId: string | undefined;
  /** From Retry-After: the time in milliseconds since the epoch from which to retry. */
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

/** Makes a problem of a response and its parsed body; other bodies give a problem with the status. */
export function problemFrom(response: Response, body: unknown, nowMs: number): ProblemError {
  const members = typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {};
  const detail = text(members['detail']);
  const errors = Array.isArray(members['errors'])
    ? (members['errors'] as NonNullable<SentProblem['errors']>)
    : undefined;
  const problem: Problem = {
    title: text(members['title']) ?? texts.theServiceAnswered(response.status),
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

/** No response: the text says that it is unknown whether a change was made. */
export function unreached(cause: unknown, changed: boolean): ProblemError {
  const problem: Problem = {
    title: texts.noAnswer,
    status: 0,
    code: 'NO_ANSWER',
    detail: changed ? texts.noAnswerToChange : texts.noAnswerToRead,
  };
  const error = new ProblemError(problem);
  error.cause = cause;
  return error;
}

/** Converts any thrown value; one that is no problem is reported as a defect of the page. */
export function asProblem(error: unknown): ProblemError {
  if (error instanceof ProblemError) return error;
  const detail = error instanceof Error ? error.message : String(error);
  return new ProblemError({ title: texts.thePageFailed, status: 0, code: 'PAGE_ERROR', detail });
}
