import { AppError } from '@sealgate/errors';
import type { Session } from './session.ts';
import { Slots } from './slots.ts';
import { audienceKey, type Audience } from './surfaces.ts';

export interface AccessToken {
  readonly token: string;
  /** Milliseconds since the epoch. */
  readonly endsAtMs: number;
}

/** The result of a refresh. */
export interface Renewed extends AccessToken {
  /** The new refresh token; undefined if the old one stays valid. */
  readonly refreshToken: string | undefined;
}

/** The token endpoint of the provider. Calls have a deadline. */
export interface TokenEndpoint {
  /** `ended`: the provider rejects this refresh token. @throws AppError UNAVAILABLE */
  renew(refreshToken: string, audience: Audience | undefined): Promise<Renewed | 'ended'>;
}

/** Exchanges of one person, in all their sessions, that may be under way or wait. */
const MAX_EXCHANGES = { total: 32, perHolder: 8, strangers: 0 };

/** Tokens with less time left are renewed, so that they are still valid at the surface. */
const LEEWAY_MS = 30_000;
/** Cache size. The least recently used session is evicted; its next request costs an exchange. */
const MAX_SESSIONS = 2_000;

interface Known {
  /** With the newest refresh token known to this process. */
  session: Session;
  readonly tokens: Map<string, AccessToken>;
  readonly waiting: Map<string, Promise<AccessToken>>;
  /** The end of the queue: exchanges of one session are serialised. */
  last: Promise<unknown>;
  /** A refresh token that the provider has rejected. */
  endedWith: string | undefined;
}

/**
 * Access tokens of the recently used sessions of this process, one per audience.
 *
 * Providers may rotate the refresh token on each exchange, and end the whole session if an old one is reused. So
 * exchanges of a session are serialised, concurrent requests for one audience share an exchange, and a request with an
 * older cookie gets the newest refresh token known here (by its number of exchanges).
 */
export class AccessTokens {
  readonly #endpoint: TokenEndpoint;
  readonly #now: () => number;
  readonly #onRenewed: (session: Session) => void;
  readonly #slots = new Slots(MAX_EXCHANGES);
  /** Ordered by last use. */
  readonly #known = new Map<string, Known>();

  constructor({
    endpoint,
    now,
    onRenewed = () => undefined,
  }: {
    readonly endpoint: TokenEndpoint;
    readonly now: () => number;
    /** The provider has issued a token for this session. */
    readonly onRenewed?: (session: Session) => void;
  }) {
    this.#endpoint = endpoint;
    this.#now = now;
    this.#onRenewed = onRenewed;
  }

  /** Caches the token from a sign-in. */
  remember(session: Session, audience: Audience, token: AccessToken): void {
    this.#knownOf(session).tokens.set(audienceKey(audience), token);
  }

  /**
   * A token for the audience, and the current session: if it differs from the given one, the cookie must be replaced.
   * @throws AppError UNAUTHENTICATED if the provider has ended the session, UNAVAILABLE if it does not respond,
   *   OVERLOADED or RATE_LIMITED if too many exchanges are under way.
   */
  async tokenFor(session: Session, audience: Audience): Promise<{ readonly token: string; readonly session: Session }> {
    const known = this.#knownOf(session);
    const kept = known.tokens.get(audienceKey(audience));
    if (kept !== undefined && this.#now() < kept.endsAtMs - LEEWAY_MS)
      return { token: kept.token, session: known.session };
    const { token } = await this.#shared(known, audience);
    return { token, session: known.session };
  }

  /** The session with the newest refresh token known here. */
  current(session: Session): Session {
    return this.#knownOf(session).session;
  }

  /**
   * Whether the provider still accepts the refresh token, by an exchange.
   * @throws AppError UNAVAILABLE, OVERLOADED, RATE_LIMITED
   */
  async isAccepted(session: Session, audience: Audience | undefined): Promise<boolean> {
    try {
      await this.#shared(this.#knownOf(session), audience);
      return true;
    } catch (error) {
      if (error instanceof AppError && error.code === 'UNAUTHENTICATED') return false;
      throw error;
    }
  }

  /** The same once no exchange is under way, so that there will be no newer one. Never rejects. */
  async settled(session: Session): Promise<Session> {
    await this.#knownOf(session).last;
    return this.current(session);
  }

  /** Drops everything cached of a session. */
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
    // Another replica has exchanged it in the meantime.
    if (renewals > known.session.renewals) known.session = session;
    this.#known.delete(id);
    this.#known.set(id, known);
    const [oldest] = this.#known.size > MAX_SESSIONS ? this.#known.keys() : [];
    if (oldest !== undefined) this.#known.delete(oldest);
    return known;
  }

  #shared(known: Known, audience: Audience | undefined): Promise<AccessToken> {
    const key = audience === undefined ? '' : audienceKey(audience);
    const waiting = known.waiting.get(key);
    if (waiting !== undefined) return waiting;
    const release = this.#slots.take(known.session);
    const renewing = known.last
      .then(() => this.#renew(known, audience))
      .finally(() => {
        known.waiting.delete(key);
        release();
      });
    known.waiting.set(key, renewing);
    known.last = renewing.catch(() => undefined);
    return renewing;
  }

  async #renew(known: Known, audience: Audience | undefined): Promise<AccessToken> {
    const { refreshToken } = known.session;
    if (known.endedWith === refreshToken) throw ended();
    const renewed = await this.#endpoint.renew(refreshToken, audience);
    if (renewed === 'ended') {
      known.endedWith = refreshToken;
      throw ended();
    }
    const { token, endsAtMs, refreshToken: next = refreshToken } = renewed;
    // A newer one from another replica may have arrived during the exchange.
    const { session } = known;
    if (next !== refreshToken && session.refreshToken === refreshToken)
      known.session = { ...session, refreshToken: next, renewals: session.renewals + 1 };
    if (audience !== undefined) known.tokens.set(audienceKey(audience), { token, endsAtMs });
    this.#onRenewed(known.session);
    return { token, endsAtMs };
  }
}

const ended = (): AppError => new AppError('UNAUTHENTICATED', 'The identity provider has ended this session.');
