import { errorCode } from './error-code.ts';
import { UnreachableError } from './unreachable-error.ts';

/** Failures after which nothing can have been sent. */
const NOT_SENT: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nobody listens there',
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'the name of the host cannot be looked up',
  EHOSTUNREACH: 'there is no way to the host',
  ENETUNREACH: 'there is no way to the network',
  UND_ERR_CONNECT_TIMEOUT: 'the host does not answer',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed (NODE_EXTRA_CA_CERTS names a file of those to trust)',
  SELF_SIGNED_CERT_IN_CHAIN:
    'its certificate is not of a known issuer (NODE_EXTRA_CA_CERTS names a file of those to trust)',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    'its certificate is not of a known issuer (NODE_EXTRA_CA_CERTS names a file of those to trust)',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host',
};

const UNKNOWN_OUTCOME = 'Whether the change took effect is not known: look before you repeat it.';

export interface Attempt {
  readonly url: string;
  readonly timeoutMs: number;
  /** Whether the request was to change something. */
  readonly changes: boolean;
}

/** Says why `fetch` or the reading of its answer failed and, for a change, what is known of it. */
export function unreachable(error: unknown, { url, timeoutMs, changes }: Attempt): UnreachableError {
  if (error instanceof UnreachableError) return unusable(error.message, changes);
  const reason = reasonOf(error);
  const notSent = NOT_SENT[reason];
  if (notSent !== undefined) return new UnreachableError(`${url} cannot be reached: ${notSent}.`, { cause: error });
  const why =
    reason === 'TimeoutError'
      ? `${url} did not answer within ${timeoutMs / 1_000} s.`
      : `The connection to ${url} failed (${reason}).`;
  return unusable(why, changes, error);
}

/** There is no answer to go by; of a change it is then said that it may have happened. */
export function unusable(why: string, changes: boolean, cause?: unknown): UnreachableError {
  return new UnreachableError(changes ? `${why} ${UNKNOWN_OUTCOME}` : why, { cause });
}

/**
 * `fetch` throws one TypeError for everything: what happened is the code, name or message of its innermost cause. Where
 * several addresses were tried, the code is that of the first.
 */
function reasonOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return String(error);
  const code = errorCode(error);
  if (code !== undefined) return code;
  if ('cause' in error && error.cause !== undefined) return reasonOf(error.cause);
  if ('name' in error && error.name === 'TimeoutError') return error.name;
  return 'message' in error ? String(error.message) : String(error);
}
