import { CATALOGUE } from './catalogue.ts';
import type { ErrorCode } from './error-code.ts';

/** One invalid place in a request. */
export interface Fault {
  /** `arguments`: the arguments of an MCP tool call. */
  readonly in: 'body' | 'query' | 'header' | 'path' | 'arguments';
  /** An RFC 6901 JSON pointer; the empty string is the whole value. */
  readonly pointer: string;
  /** One sentence for people. Never quotes the body. */
  readonly detail: string;
}

interface AppErrorOptions {
  /** Listed as `errors` in the problem document. */
  faults?: readonly Fault[];
  /** Finite; rounded up to whole seconds, at least 1. Defaults to 1 for every 429 and 503. */
  retryAfterSeconds?: number;
  /** Extension members of the problem document. They must not replace standard members. */
  members?: Readonly<Record<string, unknown>>;
  /** Additional response headers. */
  headers?: Readonly<Record<string, string>>;
  /** The underlying error. Logged, never sent. */
  cause?: unknown;
}

const STANDARD_MEMBERS: ReadonlySet<string> = new Set([
  'type',
  'title',
  'status',
  'detail',
  'instance',
  'code',
  'errors',
]);

/**
 * An expected failure that is reported to the caller. Any other thrown value is a bug and is answered as INTERNAL.
 * `detail` is sent unchanged: it must not hold SQL, file paths, keys or parts of a body.
 * @throws TypeError when a member would replace a standard one, or `retryAfterSeconds` is not finite.
 */
export class AppError extends Error {
  override readonly name = 'AppError';
  readonly code: ErrorCode;
  readonly status: number;
  readonly faults: readonly Fault[];
  readonly retryAfterSeconds: number | undefined;
  readonly members: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, detail: string, options: AppErrorOptions = {}) {
    super(detail, 'cause' in options ? { cause: options.cause } : undefined);
    this.code = code;
    this.status = CATALOGUE[code].status;
    this.faults = options.faults ?? [];
    this.retryAfterSeconds = wholeRetryAfterSeconds(this.status, options.retryAfterSeconds);
    this.members = options.members ?? {};
    this.headers = options.headers ?? {};
    for (const member of Object.keys(this.members)) {
      if (STANDARD_MEMBERS.has(member)) throw new TypeError('A standard member of a problem cannot be replaced.');
    }
  }
}

/** A refusal that one member of the body caused: its detail is that of the fault as well. */
export const refusedMember = (code: ErrorCode, pointer: string, detail: string): AppError =>
  new AppError(code, detail, { faults: [{ in: 'body', pointer, detail }] });

function wholeRetryAfterSeconds(status: number, given: number | undefined): number | undefined {
  if (given === undefined) return status === 429 || status === 503 ? 1 : undefined;
  if (!Number.isFinite(given)) throw new TypeError('retryAfterSeconds must be finite.');
  return Math.max(1, Math.ceil(given));
}
