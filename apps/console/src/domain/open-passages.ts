import { AppError } from '@sealgate/errors';
import type { Session } from './session.ts';

/** Sessions that are judged at the same time: no more than one person's share of the questions to the provider. */
const MAX_JUDGED = 8;
/** How long a passage goes on while too much is under way for its session to be judged. */
const PATIENCE_MS = 60_000;

interface Opened {
  /** With the newest refresh token known here. */
  session: Session;
  readonly cuts: Set<() => void>;
  /** The last time that the session was known to be live. */
  liveAtMs: number;
}

/**
 * Requests of signed-in people that are being forwarded: they were let through when they came, but a stream may outlast
 * its session. Memory is bounded by the slots of the forwarder, as each of them holds one.
 */
export class OpenPassages {
  readonly #isLive: (session: Session) => Promise<boolean>;
  readonly #current: (session: Session) => Session;
  readonly #now: () => number;
  readonly #opened = new Map<string, Opened>();

  constructor({
    isLive,
    current,
    now,
  }: {
    /** @throws AppError UNAVAILABLE, OVERLOADED, RATE_LIMITED if nobody can tell. */
    readonly isLive: (session: Session) => Promise<boolean>;
    /** The session with the newest refresh token known here. */
    readonly current: (session: Session) => Session;
    readonly now: () => number;
  }) {
    this.#isLive = isLive;
    this.#current = current;
    this.#now = now;
  }

  /** The number of sessions with an open passage. */
  get size(): number {
    return this.#opened.size;
  }

  /**
   * Enters a passage of a live session and returns its removal, which may be called more than once. `cut` is called
   * whenever the session is found to have ended: a passage that cannot be cut yet is met again by the next check.
   */
  open({ session, cut }: { readonly session: Session; readonly cut: () => void }): () => void {
    const { id } = session;
    const opened = this.#opened.get(id) ?? { session, cuts: new Set(), liveAtMs: 0 };
    if (session.renewals > opened.session.renewals) opened.session = session;
    opened.liveAtMs = this.#now();
    opened.cuts.add(cut);
    this.#opened.set(id, opened);
    return () => {
      opened.cuts.delete(cut);
      if (opened.cuts.size === 0 && this.#opened.get(id) === opened) this.#opened.delete(id);
    };
  }

  /** The session has ended. */
  end({ id }: Session): void {
    for (const cut of [...(this.#opened.get(id)?.cuts ?? [])]) cut();
  }

  /** Judges every session with an open passage, and ends the passages of those that are not live. */
  async check(stopping: AbortSignal): Promise<void> {
    const waiting = [...this.#opened.values()];
    const failures: unknown[] = [];
    const judgeNext = async (): Promise<void> => {
      for (let next = waiting.pop(); next !== undefined && !stopping.aborted; next = waiting.pop()) {
        const opened = next;
        if (opened.cuts.size > 0) await this.#judge(opened).catch((error: unknown) => failures.push(error));
      }
    };
    await Promise.all(Array.from({ length: MAX_JUDGED }, judgeNext));
    if (failures.length > 0) throw failures[0];
  }

  async #judge(opened: Opened): Promise<void> {
    try {
      // Asked each time, so that it stays known here: an outdated refresh token proves nothing.
      opened.session = this.#current(opened.session);
      if (this.#now() < opened.session.endsAtMs && (await this.#isLive(opened.session))) {
        opened.liveAtMs = this.#now();
        return;
      }
    } catch (error) {
      if (isBusy(error) && this.#now() - opened.liveAtMs < PATIENCE_MS) return;
      if (!(error instanceof AppError)) {
        this.end(opened.session);
        throw error;
      }
    }
    this.end(opened.session);
  }
}

const isBusy = (error: unknown): boolean =>
  error instanceof AppError && (error.code === 'OVERLOADED' || error.code === 'RATE_LIMITED');
