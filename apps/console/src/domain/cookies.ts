import { SealedTextError } from '@sealgate/auth';
import { AppError } from '@sealgate/errors';
import { parseSession, sessionText, type PendingSignIn, type Session } from './session.ts';

/** `SecretBox` of the server secrets. */
interface Seals {
  seal(text: string, context: string): string;
  /** @throws SealedTextError */
  open(sealed: string, context: string): string;
}

/** Maximum size of a cookie in browsers, including name and attributes (RFC 6265, section 6.1). */
const MAX_COOKIE_BYTES = 4096;
/** Maximum number of pending sign-ins of a browser; one more drops the others. */
const MAX_PENDING = 4;

/**
 * Names, seals and reads the cookies of the console. A cookie that is too long, was modified, belongs to another
 * context or has expired is ignored.
 */
export class Cookies {
  readonly #seals: Seals;
  readonly #now: () => number;
  readonly #attributes: string;
  readonly #sessionName: string;
  readonly #pendingPrefix: string;

  constructor({
    seals,
    publicUrl,
    now,
  }: {
    readonly seals: Seals;
    /** Without path. With https, cookies are Secure and have the `__Host-` prefix. */
    readonly publicUrl: string;
    /** Milliseconds since the epoch. */
    readonly now: () => number;
  }) {
    const { protocol, port } = new URL(publicUrl);
    const isSecure = protocol === 'https:';
    this.#seals = seals;
    this.#now = now;
    // Lax: the redirect back from the provider is a cross-site navigation and must send the cookie.
    this.#attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
    // Ports of one host share cookies, and there may be several consoles on loopback.
    const name = (what: string) => (isSecure ? `__Host-sealgate-${what}` : `sealgate-${what}-${port}`);
    this.#sessionName = name('session');
    this.#pendingPrefix = name('sign-in');
  }

  /** The session in the Cookie headers of a request; undefined if not signed in. */
  session(headers: readonly string[]): Session | undefined {
    // Two cookies of one name come from different scopes; which one is ours is unknown.
    const [value, ...others] = valuesOf(headers, this.#sessionName);
    if (value === undefined || others.length > 0) return undefined;
    const text = this.#open(value, this.#sessionName);
    const session = text === undefined ? undefined : parseSession(text);
    return session !== undefined && this.#now() < session.endsAtMs ? session : undefined;
  }

  /** @throws AppError UNAVAILABLE if the refresh token is too long for a cookie. */
  keepSession(session: Session): string {
    const value = this.#seals.seal(sessionText(session), this.#sessionName);
    const cookie = this.#cookie(this.#sessionName, value, session.endsAtMs);
    if (cookie.length <= MAX_COOKIE_BYTES) return cookie;
    throw new AppError('UNAVAILABLE', 'The refresh token of the provider is too long for a cookie.');
  }

  forgetSession(): string {
    return this.#gone(this.#sessionName);
  }

  /** The pending sign-in of this browser with the given state. */
  pending(headers: readonly string[], state: string): PendingSignIn | undefined {
    const name = this.#pendingName(state);
    const [value] = valuesOf(headers, name);
    const text = value === undefined ? undefined : this.#open(value, name);
    if (text === undefined) return undefined;
    const pending = JSON.parse(text) as PendingSignIn;
    return pending.state === state && this.#now() < pending.endsAtMs ? pending : undefined;
  }

  /** The cookies to set: each window has its own sign-in, and the number of abandoned ones is limited. */
  keepPending(pending: PendingSignIn, headers: readonly string[]): string[] {
    const name = this.#pendingName(pending.state);
    const earlier = namesOf(headers).filter((one) => one.startsWith(this.#pendingPrefix));
    const forgotten = earlier.length < MAX_PENDING ? [] : earlier.slice(0, 2 * MAX_PENDING);
    const value = this.#seals.seal(JSON.stringify(pending), name);
    return [...forgotten.map((one) => this.#gone(one)), this.#cookie(name, value, pending.endsAtMs)];
  }

  forgetPending(state: string): string {
    return this.#gone(this.#pendingName(state));
  }

  #pendingName(state: string): string {
    return `${this.#pendingPrefix}-${state.replaceAll(/[^A-Za-z0-9]/g, '').slice(0, 12)}`;
  }

  #open(value: string, name: string): string | undefined {
    if (value.length > MAX_COOKIE_BYTES) return undefined;
    try {
      return this.#seals.open(value, name);
    } catch (error) {
      if (error instanceof SealedTextError) return undefined;
      throw error;
    }
  }

  #cookie(name: string, value: string, endsAtMs: number): string {
    const seconds = Math.max(0, Math.floor((endsAtMs - this.#now()) / 1000));
    return `${name}=${value}; Max-Age=${seconds}; ${this.#attributes}`;
  }

  #gone(name: string): string {
    return `${name}=; Max-Age=0; ${this.#attributes}`;
  }
}

function* pairsOf(headers: readonly string[]): Generator<readonly [name: string, value: string]> {
  for (const pair of headers.join(';').split(';')) {
    const equals = pair.indexOf('=');
    if (equals > 0) yield [pair.slice(0, equals).trim(), pair.slice(equals + 1).trim()];
  }
}

const valuesOf = (headers: readonly string[], name: string): string[] =>
  [...pairsOf(headers)].filter(([one]) => one === name).map(([, value]) => value);

const namesOf = (headers: readonly string[]): string[] => [...new Set([...pairsOf(headers)].map(([name]) => name))];
