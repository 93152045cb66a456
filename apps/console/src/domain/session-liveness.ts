import { AppError } from '@sealgate/errors';
import type { Session } from './session.ts';

/** What all replicas share of sessions. Each call has a deadline. */
export interface SharedSessions {
  /** Never rejects: what cannot be written now is written later. */
  end(id: string, untilMs: number): Promise<void>;
  /** Marks it as confirmed by the provider, for a while, unless it has ended. Never rejects, and may be lost. */
  confirm(id: string, untilMs: number): Promise<void>;
  /** Undefined proves nothing: the store may have lost its data. @throws Error while the store is away. */
  find(id: string): Promise<'live' | 'ended' | undefined>;
}

/** How long a verdict on a session is used. */
const KEEP_MS = 10_000;
/** The same for a verdict of the shared store, which is cheap to ask. */
const KEEP_SHARED_MS = 2_000;
/** How long a confirmed session goes on while nobody can be asked. */
const GRACE_MS = 300_000;
/** How long a request with a confirmed session waits for the provider. */
const PATIENCE_MS = 1_000;
/** The least recently used verdict is dropped; the next request of that session asks again. */
const MAX_VERDICTS = 2_000;
/** Sessions that are known here to have ended; beyond it only the shared store and the provider know. */
const MAX_ENDED = 10_000;

interface Verdict {
  readonly answer: Promise<boolean>;
  untilMs: number;
  /** Number of exchanges of the session that was judged: a newer cookie is judged anew if this one was refused. */
  readonly renewals: number;
  /** The last time that the session was known to be live. */
  confirmedAtMs: number | undefined;
}

interface Ended {
  readonly untilMs: number;
  /** Cookies with more exchanges are judged anew: the provider refuses an outdated refresh token as well. */
  readonly renewals: number;
}

/**
 * Whether sessions are still live. A session ends when somebody signs out, at any replica; its cookie may have been
 * copied before. Ended sessions are known here, in the store that replicas share, and to the provider, which is asked at
 * most every ten seconds if there is no store, it is away, or it knows nothing of the session: a store that was emptied
 * must not bring a session back, so what is absent there is neither live nor ended.
 */
export class SessionLiveness {
  readonly #shared: SharedSessions | undefined;
  readonly #ask: (session: Session) => Promise<boolean>;
  readonly #now: () => number;
  readonly #onEnded: (session: Session) => void;
  readonly #ended = new Map<string, Ended>();
  /** Ordered by last use. */
  readonly #verdicts = new Map<string, Verdict>();

  constructor({
    shared,
    ask,
    now,
    onEnded = () => undefined,
  }: {
    readonly shared: SharedSessions | undefined;
    /** Asks the provider. @throws AppError UNAVAILABLE, OVERLOADED, RATE_LIMITED */
    readonly ask: (session: Session) => Promise<boolean>;
    readonly now: () => number;
    /** The store or the provider has told that it ended. */
    readonly onEnded?: (session: Session) => void;
  }) {
    this.#shared = shared;
    this.#ask = ask;
    this.#now = now;
    this.#onEnded = onEnded;
  }

  /** @throws AppError UNAVAILABLE, OVERLOADED, RATE_LIMITED if nobody can tell. */
  async isLive(session: Session): Promise<boolean> {
    const { id, renewals } = session;
    if (this.#isEnded(session)) return false;
    const kept = this.#verdicts.get(id);
    if (kept !== undefined && this.#now() < kept.untilMs) {
      const isLive = await kept.answer;
      if (isLive || renewals <= kept.renewals) return isLive && !this.#isEnded(session);
    }
    const confirmedAtMs = kept?.confirmedAtMs;
    const startedAtMs = this.#now();
    const answer = this.#judge(session, confirmedAtMs);
    const verdict: Verdict = { answer, untilMs: startedAtMs + this.#keepMs, renewals, confirmedAtMs };
    this.#keep(id, verdict);
    answer.catch(() => {
      if (this.#verdicts.get(id) === verdict) this.#verdicts.delete(id);
    });
    // It may have been signed out here in the meantime.
    return (await answer) && !this.#isEnded(session);
  }

  /** The provider has just issued a token for it. */
  confirm({ id, renewals, endsAtMs }: Session): void {
    const at = this.#now();
    this.#keep(id, { answer: Promise.resolve(true), untilMs: at + this.#keepMs, renewals, confirmedAtMs: at });
    void this.#shared?.confirm(id, endsAtMs);
  }

  get #keepMs(): number {
    return this.#shared === undefined ? KEEP_MS : KEEP_SHARED_MS;
  }

  /** Ends it, for all replicas. Never rejects. */
  async end(session: Session): Promise<void> {
    this.#markEnded(session, Number.POSITIVE_INFINITY);
    await this.#shared?.end(session.id, session.endsAtMs);
  }

  #isEnded({ id, renewals }: Session): boolean {
    return renewals <= (this.#ended.get(id)?.renewals ?? -1);
  }

  #markEnded({ id, endsAtMs }: Session, renewals: number): void {
    for (const [ended, { untilMs }] of this.#ended) {
      if (this.#ended.size < MAX_ENDED && untilMs > this.#now()) break;
      this.#ended.delete(ended);
    }
    this.#ended.set(id, { untilMs: endsAtMs, renewals: Math.max(renewals, this.#ended.get(id)?.renewals ?? 0) });
    this.#verdicts.delete(id);
  }

  async #judge(session: Session, confirmedAtMs: number | undefined): Promise<boolean> {
    const found = await this.#shared?.find(session.id).catch(() => undefined);
    if (found === 'live') return this.#toldLive(session);
    if (found === 'ended') return this.#toldEnded(session, Number.POSITIVE_INFINITY);
    const verdict = this.#verdicts.get(session.id);
    // The provider is asked less often than the shared store.
    if (verdict !== undefined) verdict.untilMs = this.#now() + KEEP_MS;
    const asked = this.#askProvider(session);
    if (confirmedAtMs === undefined || this.#now() - confirmedAtMs > GRACE_MS) return asked;
    // An answer that comes later counts for the next requests.
    asked.catch(() => undefined);
    const late = new Promise<undefined>((resolve) => setTimeout(resolve, PATIENCE_MS, undefined).unref());
    return (await Promise.race([asked.catch(goesOn), late])) ?? true;
  }

  async #askProvider(session: Session): Promise<boolean> {
    if (!(await this.#ask(session))) return this.#toldEnded(session, session.renewals);
    void this.#shared?.confirm(session.id, session.endsAtMs);
    return this.#toldLive(session);
  }

  #toldLive({ id }: Session): true {
    const verdict = this.#verdicts.get(id);
    if (verdict !== undefined) verdict.confirmedAtMs = this.#now();
    return true;
  }

  #toldEnded(session: Session, renewals: number): false {
    this.#markEnded(session, renewals);
    this.#onEnded(session);
    return false;
  }

  #keep(id: string, verdict: Verdict): void {
    this.#verdicts.delete(id);
    this.#verdicts.set(id, verdict);
    const [oldest] = this.#verdicts.size > MAX_VERDICTS ? this.#verdicts.keys() : [];
    if (oldest !== undefined) this.#verdicts.delete(oldest);
  }
}

/** The provider is away: a session that was confirmed lately goes on. */
function goesOn(error: unknown): undefined {
  if (!(error instanceof AppError)) throw error;
}
