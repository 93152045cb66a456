import { setTimeout as delay } from 'node:timers/promises';
import type { OrphanEntry } from './journal-entry.ts';
import type { Journal } from './journal.ts';

export interface JournalKeeperOptions {
  readonly journal: Journal;
  readonly leaseMs: number;
  readonly now: () => number;
  /** Takes on what another process left behind. */
  readonly adopt: (orphans: readonly OrphanEntry[]) => void;
  /** False: this process has as much to settle as it holds; another one, or a later moment, takes the rest. */
  readonly hasRoom: () => boolean;
  /** The ids of what this process settles now. */
  readonly known: () => readonly string[];
  readonly onProblem: (detail: string) => void;
}

const ADOPT_AT_ONCE = 500;
const FORGET_EVERY_MS = 60_000;
/** Beats per lease: two may be lost without harm. */
const BEATS = 4;

/** Says that this process lives, takes over from those that do not, and removes what was settled long ago. */
export class JournalKeeper {
  readonly #options: JournalKeeperOptions;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  #sinceForgotMs = 0;
  #beatAtMs: number | undefined;
  /** An answer to `adopt` was lost: something may be ours without our knowing. */
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
    // After an outage of the database every lease has ended: those who live are given a round to say so.
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
