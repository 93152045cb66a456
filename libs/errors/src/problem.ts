import type { AppError, Fault } from './app-error.ts';
import { CATALOGUE } from './catalogue.ts';
import type { ErrorCode } from './error-code.ts';

/** An RFC 9457 problem document. Members are sent in this order. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly instance: string;
  readonly code: ErrorCode;
  /** Absent when there are no faults. */
  readonly errors?: readonly Fault[];
  readonly [member: string]: unknown;
}

/** The media type of a problem document. */
export const PROBLEM_MEDIA_TYPE = 'application/problem+json';

/** The `type` of every problem with this code: `urn:sealgate:problem:not-found` for NOT_FOUND. */
export function problemType(code: ErrorCode): string {
  return `urn:sealgate:problem:${code.toLowerCase().replaceAll('_', '-')}`;
}

/** The problem document of an error. Leaves out cause and stack. */
export function problemOf(error: AppError, requestId: string): Problem {
  return {
    type: problemType(error.code),
    title: CATALOGUE[error.code].title,
    status: error.status,
    detail: error.message,
    instance: `urn:request:${encodeURIComponent(requestId.toWellFormed())}`,
    code: error.code,
    ...(error.faults.length > 0 && { errors: error.faults }),
    ...error.members,
  };
}
