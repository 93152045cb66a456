/** One fault of a request in a problem. */
export interface ProblemFault {
  readonly in: string;
  /** A JSON pointer (RFC 6901), or the name of a header or parameter. */
  readonly pointer?: string;
  readonly detail: string;
}

/** A refusal, as sent by every surface (RFC 9457 section 3.1). */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail?: string;
  /** `urn:request:` and the request id. */
  readonly instance?: string;
  /** Absent if an intermediary answered. */
  readonly code?: string;
  readonly errors?: readonly ProblemFault[];
}

/** Intermediaries may answer with pages of any size; problems are small. */
const PROBLEM_MAX_CHARACTERS = 65_536;

/**
 * The same response with a problem as its body. A response of an intermediary (a proxy's page, for example) gets a
 * problem for its status, with type `about:blank` (RFC 9457 section 4.2.1) and no code.
 */
export async function withProblem(response: Response): Promise<Response> {
  const text = await response.text();
  const own = parsedProblem(text);
  const { status, statusText } = response;
  const blank: Problem = { type: 'about:blank', title: statusText || `HTTP ${status}`, status };
  const headers = new Headers(response.headers);
  // The body has changed, so these no longer apply.
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
