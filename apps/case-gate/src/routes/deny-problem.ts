import type { AppError, Problem } from '@sealgate/errors';
import { named } from '@sealgate/http';
import { Type } from '@sinclair/typebox';

const reasons = {
  reason_codes: Type.Array(Type.String(), { minItems: 1, maxItems: 1 }),
  fail_closed: Type.Boolean(),
};

/** What a refusal of the gate has beside the members of every problem. */
export const DenyMembers = named(
  'Denial',
  Type.Object({ decision: Type.Literal('deny'), allow: Type.Literal(false), ...reasons }),
);

/** The same in the words of AuthZEN. */
export const FalseMembers = named(
  'AccessDenial',
  Type.Object({ decision: Type.Literal(false), context: Type.Object(reasons) }),
);

/** What the code of a refusal is called among the reasons of the gate. */
function reasonOf({ status, code }: AppError): string {
  return status === 503 ? 'BACKEND_UNAVAILABLE' : code;
}

/** Every refusal on the gate's path says deny, so that nobody can take it for anything else. */
export function denyProblem(problem: Problem, error: AppError): Problem {
  const isOurs = error.status >= 500;
  return { ...problem, decision: 'deny', allow: false, reason_codes: [reasonOf(error)], fail_closed: isOurs };
}

/** The same in the words of AuthZEN. */
export function falseProblem(problem: Problem, error: AppError): Problem {
  const context = { reason_codes: [reasonOf(error)], fail_closed: error.status >= 500 };
  return { ...problem, decision: false, context };
}
