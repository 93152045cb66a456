import { setTimeout as delay } from 'node:timers/promises';
import type { OrphanEntry } from './journal-statements.ts';
import type { Journal } from './journal.ts';

interface JournalKeeperOptions {
  readonly journal: Journal;
  readonly leaseMs: number;
  readonly now: () => number;
  /** Takes over transactions of other processes. */
  readonly adopt: (orphans: readonly OrphanEntry[]) => void;
  /**
   * False: this process has reached its limit of unsettled transactions; the rest is taken later or by another process.
   */
  readonly hasRoom: () => boolean;
  /** The ids of the transactions that this process is settling. */
  readonly known: () => readonly string[];
  readonly onProblem: (detail: string) => void;
}

const ADOPT_AT_ONCE = 500;
const FORGET_EVERY_MS = 60_000;
/** Heartbeats per lease: two may be lost without harm. */
const BEATS = 4;

/**
 * Renews this process's lease, takes over from processes whose lease has ended, and removes old settled transactions.
 */
export class JournalKeeper {
  readonly #options: JournalKeeperOptions;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  #sinceForgotMs = 0;
  #beatAtMs: number | undefined;
  /** A response to `adopt` was lost: this process may hold transactions unknown to it. */
  #inDoubt = false;

  constructor(options: JournalKeeperOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    await this.#options.journal.depart().catch(() => undefined);
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    const everyMs = this.#options.leaseMs / BEATS;
    while (!signal.aborted) {
      try {
        await this.#round(everyMs);
      } catch (error) {
        this.#options.onProblem(String(error));
      }
      await delay(everyMs, undefined, { signal }).catch(() => undefined);
    }
  }

  async #round(everyMs: number): Promise<void> {
    const { journal, adopt, hasRoom, known, leaseMs, now } = this.#options;
    const areThereOrphans = await journal.beat();
    const wasAway = this.#beatAtMs !== undefined && now() - this.#beatAtMs > leaseMs;
    this.#beatAtMs = now();
    // After a database outage every lease has ended: live processes get a round to renew theirs.
    if (wasAway) return;
    let more = areThereOrphans || this.#inDoubt;
    while (more && hasRoom() && !this.#stop.signal.aborted) {
      const lookedForLost = this.#inDoubt;
      this.#inDoubt = true;
      const orphans = await journal.adopt(ADOPT_AT_ONCE, lookedForLost ? known() : undefined);
      this.#inDoubt = lookedForLost && orphans.length === ADOPT_AT_ONCE;
      adopt(orphans);
      more = orphans.length === ADOPT_AT_ONCE;
    }
    this.#sinceForgotMs += everyMs;
    if (this.#sinceForgotMs < FORGET_EVERY_MS) return;
    this.#sinceForgotMs = 0;
    while (!this.#stop.signal.aborted && (await journal.forget())) await delay(50);
  }
}
