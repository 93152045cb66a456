import { AppError } from '@sealgate/errors';
import type { Session } from './session.ts';

export interface AccessToken {
  readonly token: string;
  /** Milliseconds since the epoch. */
  readonly endsAtMs: number;
}

/** What a refresh token was exchanged for. */
export interface Renewed extends AccessToken {
  /** The next refresh token; undefined: the same one goes on. */
  readonly refreshToken: string | undefined;
}

/** The token endpoint of the provider. Both end within a deadline of their own. */
export interface TokenEndpoint {
  /** `ended`: the provider does not take this refresh token any more. @throws AppError UNAVAILABLE */
  renew(refreshToken: string, audience: string): Promise<Renewed | 'ended'>;
}

export interface AccessTokensOptions {
  readonly endpoint: TokenEndpoint;
  readonly now: () => number;
  /** The session that was used longest ago is forgotten; it costs its next request an exchange. */
  readonly mostSessions?: number;
}

/** A token with less than this left is fetched anew, so that it still holds when the surface looks at it. */
const LEEWAY_MS = 30_000;
const MOST_SESSIONS = 2_000;

interface Known {
  /** With the newest refresh token that this process has seen. */
  session: Session;
  readonly tokens: Map<string, AccessToken>;
  readonly waiting: Map<string, Promise<AccessToken>>;
  /** The end of the queue: exchanges of one session go one after another. */
  last: Promise<unknown>;
  /** A refresh token that the provider no longer takes. */
  endedWith: string | undefined;
}

/**
 * Access tokens of the sessions that this process has seen lately, one for each audience.
 *
 * Providers may exchange the refresh token each time (rotation), and end the whole session where one is used twice. So one
 * session exchanges once at a time, all requests that wait for the same audience share one exchange, and whoever comes with
 * an older cookie gets the newest refresh token that is known here, by the count of its exchanges.
 */
export class AccessTokens {
  readonly #endpoint: TokenEndpoint;
  readonly #now: () => number;
  readonly #mostSessions: number;
  /** In the order of their last use. */
  readonly #known = new Map<string, Known>();

  constructor({ endpoint, now, mostSessions = MOST_SESSIONS }: AccessTokensOptions) {
    this.#endpoint = endpoint;
    this.#now = now;
    this.#mostSessions = mostSessions;
  }

  /** Keeps what a sign-in brought along. */
  remember(session: Session, audience: string, token: AccessToken): void {
    this.#knownOf(session).tokens.set(audience, token);
  }

  /**
   * A token for the audience, and the session as it is now: where that is another than was given, its cookie is stale.
   * @throws AppError UNAUTHENTICATED where the provider has ended the session, UNAVAILABLE where it does not answer.
   */
  async tokenFor(session: Session, audience: string): Promise<{ readonly token: string; readonly session: Session }> {
    const known = this.#knownOf(session);
    const kept = known.tokens.get(audience);
    if (kept !== undefined && this.#now() < kept.endsAtMs - LEEWAY_MS)
      return { token: kept.token, session: known.session };
    const { token } = await this.#shared(known, audience);
    return { token, session: known.session };
  }

  /** Nothing is kept of a session that was signed out. */
  forget({ id }: Session): void {
    this.#known.delete(id);
  }

  #knownOf(session: Session): Known {
    const { id, renewals } = session;
    const found = this.#known.get(id);
    const known = found ?? {
      session,
      tokens: new Map(),
      waiting: new Map(),
      last: Promise.resolve(),
      endedWith: undefined,
    };
    // Another replica has exchanged it meanwhile.
    if (renewals > known.session.renewals) known.session = session;
    this.#known.delete(id);
    this.#known.set(id, known);
    const [oldest] = this.#known.size > this.#mostSessions ? this.#known.keys() : [];
    if (oldest !== undefined) this.#known.delete(oldest);
    return known;
  }

  #shared(known: Known, audience: string): Promise<AccessToken> {
    const waiting = known.waiting.get(audience);
    if (waiting !== undefined) return waiting;
    const renewing = known.last.then(() => this.#renew(known, audience)).finally(() => known.waiting.delete(audience));
    known.waiting.set(audience, renewing);
    known.last = renewing.catch(() => undefined);
    return renewing;
  }

  async #renew(known: Known, audience: string): Promise<AccessToken> {
    const { refreshToken } = known.session;
    if (known.endedWith === refreshToken) throw ended();
    const renewed = await this.#endpoint.renew(refreshToken, audience);
    if (renewed === 'ended') {
      known.endedWith = refreshToken;
      throw ended();
    }
    const { token, endsAtMs, refreshToken: next = refreshToken } = renewed;
    // A later one may have come from another replica while this was asked for.
    const { session } = known;
    if (next !== refreshToken && session.refreshToken === refreshToken)
      known.session = { ...session, refreshToken: next, renewals: session.renewals + 1 };
    known.tokens.set(audience, { token, endsAtMs });
    return { token, endsAtMs };
  }
}

const ended = (): AppError => new AppError('UNAUTHENTICATED', 'The identity provider has ended this session.');
