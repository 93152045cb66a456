/** One fault of a request, as a problem lists it. */
export interface ProblemFault {
  readonly in: string;
  /** A JSON pointer (RFC 6901), or the name of a header or parameter. */
  readonly pointer?: string;
  readonly detail: string;
}

/** A refusal as every surface sends it (RFC 9457, section 3.1). */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail?: string;
  /** `urn:request:` and the request id. */
  readonly instance?: string;
  /** Absent where something between answered in place of the surface. */
  readonly code?: string;
  readonly errors?: readonly ProblemFault[];
}

/** A gateway may answer with a page of any size; a problem is small. */
const PROBLEM_MAX_CHARACTERS = 65_536;

/**
 * The same refusal with a problem as its body. One that comes from something between (a proxy's page, say) gets the problem
 * that its status stands for, with the type `about:blank` (RFC 9457, section 4.2.1) and without a code.
 */
export async function withProblem(response: Response): Promise<Response> {
  const text = await response.text();
  const own = parsedProblem(text);
  const { status, statusText } = response;
  const blank: Problem = { type: 'about:blank', title: statusText || `HTTP ${status}`, status };
  const headers = new Headers(response.headers);
  // The body is no longer the one that these describe.
  headers.delete('content-length');
  headers.delete('content-encoding');
  headers.set('content-type', 'application/problem+json');
  return new Response(own === undefined ? JSON.stringify(blank) : text, { status, statusText, headers });
}

function parsedProblem(text: string): Problem | undefined {
  if (text.length > PROBLEM_MAX_CHARACTERS) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isProblem(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isProblem(value: unknown): value is Problem {
  if (typeof value !== 'object' || value === null) return false;
  const { type, title, status } = value as Record<string, unknown>;
  return typeof type === 'string' && typeof title === 'string' && typeof status === 'number';
}
