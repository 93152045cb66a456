import { AppError } from '@sealgate/errors';
import type { Session } from './session.ts';

/** The ended sessions that all replicas share. Each call has a deadline. */
export interface EndedSessions {
  /** Never rejects: what cannot be written now is written later. */
  add(id: string, untilMs: number): Promise<void>;
  /** @throws Error while the store is away. */
  has(id: string): Promise<boolean>;
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
/** Sessions that were signed out here; beyond it only the shared store and the provider know. */
const MAX_ENDED = 10_000;

interface Verdict {
  readonly answer: Promise<boolean>;
  untilMs: number;
  /** Number of exchanges of the session that was judged: a newer cookie is judged anew if this one was refused. */
  readonly renewals: number;
  /** The last time that the session was known to be live. */
  confirmedAtMs: number | undefined;
}

/**
 * Whether sessions are still live. A session ends when somebody signs out, at any replica; its cookie may have been
 * copied before. Ended sessions are known here, in the store that replicas share, and to the provider, which is asked at
 * most every ten seconds if there is no store or it is away.
 */
export class SessionLiveness {
  readonly #shared: EndedSessions | undefined;
  readonly #ask: (session: Session) => Promise<boolean>;
  readonly #now: () => number;
  readonly #ended = new Map<string, number>();
  /** Ordered by last use. */
  readonly #verdicts = new Map<string, Verdict>();

  constructor({
    shared,
    ask,
    now,
  }: {
    readonly shared: EndedSessions | undefined;
    /** Asks the provider. @throws AppError UNAVAILABLE, OVERLOADED, RATE_LIMITED */
    readonly ask: (session: Session) => Promise<boolean>;
    readonly now: () => number;
  }) {
    this.#shared = shared;
    this.#ask = ask;
    this.#now = now;
  }

  /** @throws AppError UNAVAILABLE, OVERLOADED, RATE_LIMITED if nobody can tell. */
  async isLive(session: Session): Promise<boolean> {
    const { id, renewals } = session;
    if (this.#ended.has(id)) return false;
    const kept = this.#verdicts.get(id);
    if (kept !== undefined && this.#now() < kept.untilMs) {
      const isLive = await kept.answer;
      if (isLive || renewals <= kept.renewals) return isLive && !this.#ended.has(id);
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
    return (await answer) && !this.#ended.has(id);
  }

  /** The provider has just issued a token for it. */
  confirm({ id, renewals }: Session): void {
    const at = this.#now();
    this.#keep(id, { answer: Promise.resolve(true), untilMs: at + this.#keepMs, renewals, confirmedAtMs: at });
  }

  get #keepMs(): number {
    return this.#shared === undefined ? KEEP_MS : KEEP_SHARED_MS;
  }

  /** Ends it, for all replicas. Never rejects. */
  async end({ id, endsAtMs }: Session): Promise<void> {
    for (const [ended, untilMs] of this.#ended) {
      if (this.#ended.size < MAX_ENDED && untilMs > this.#now()) break;
      this.#ended.delete(ended);
    }
    this.#ended.set(id, endsAtMs);
    this.#verdicts.delete(id);
    await this.#shared?.add(id, endsAtMs);
  }

  async #judge(session: Session, confirmedAtMs: number | undefined): Promise<boolean> {
    const isEnded = await this.#shared?.has(session.id).catch(() => undefined);
    if (isEnded !== undefined) return this.#told(session, !isEnded);
    const verdict = this.#verdicts.get(session.id);
    // The provider is asked less often than the shared store.
    if (verdict !== undefined) verdict.untilMs = this.#now() + KEEP_MS;
    const asked = this.#ask(session);
    if (confirmedAtMs === undefined || this.#now() - confirmedAtMs > GRACE_MS) return this.#told(session, await asked);
    // An answer that comes later counts for the next requests.
    void asked.then(
      (isLive) => !isLive && this.#keep(session.id, refusedAt(session, this.#now() + KEEP_MS)),
      () => undefined,
    );
    const late = new Promise<undefined>((resolve) => setTimeout(resolve, PATIENCE_MS, undefined).unref());
    const answer = await Promise.race([asked.catch(goesOn), late]);
    return answer === undefined || this.#told(session, answer);
  }

  #told({ id }: Session, isLive: boolean): boolean {
    const verdict = this.#verdicts.get(id);
    if (isLive && verdict !== undefined) verdict.confirmedAtMs = this.#now();
    return isLive;
  }

  #keep(id: string, verdict: Verdict): void {
    this.#verdicts.delete(id);
    this.#verdicts.set(id, verdict);
    const [oldest] = this.#verdicts.size > MAX_VERDICTS ? this.#verdicts.keys() : [];
    if (oldest !== undefined) this.#verdicts.delete(oldest);
  }
}

const refusedAt = ({ renewals }: Session, untilMs: number): Verdict => ({
  ...{ answer: Promise.resolve(false), untilMs, renewals, confirmedAtMs: undefined },
});

/** The provider is away: a session that was confirmed lately goes on. */
function goesOn(error: unknown): undefined {
  if (!(error instanceof AppError)) throw error;
}
