import { CATALOGUE } from './catalogue.ts';
import type { ErrorCode } from './error-code.ts';

/** One place in a request that is wrong. */
export interface Fault {
  /** `arguments`: of a tool. */
  readonly in: 'body' | 'query' | 'header' | 'path' | 'arguments';
  /** A plain RFC 6901 JSON pointer; the empty string is the whole. */
  readonly pointer: string;
  /** One sentence for people. It never quotes the body. */
  readonly detail: string;
}

export interface AppErrorOptions {
  /** Listed as `errors` in the problem document. */
  faults?: readonly Fault[];
  /** Finite; rounded up to whole seconds, at least 1. When absent, every 429 and 503 gets 1: the contract promises one. */
  retryAfterSeconds?: number;
  /** Further members of the problem document. They may not replace its standard members. */
  members?: Readonly<Record<string, unknown>>;
  /** Further headers of the answer. */
  headers?: Readonly<Record<string, string>>;
  /** What was caught; for the log alone, it is never sent. */
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
 * A failure that was foreseen, and the only one a caller is told about; everything else that is thrown is a bug and is
 * answered as INTERNAL. The detail is sent to the caller as it is: no SQL, path of a file, key or body belongs in it.
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

function wholeRetryAfterSeconds(status: number, given: number | undefined): number | undefined {
  if (given === undefined) return status === 429 || status === 503 ? 1 : undefined;
  if (!Number.isFinite(given)) throw new TypeError('retryAfterSeconds must be finite.');
  return Math.max(1, Math.ceil(given));
}
