import { setTimeout as delay } from 'node:timers/promises';
import { consistencyPath, type Checkpoint, type LogPolicy, type PolicyWitness } from '@sealgate/merkle';
import type { Log } from '@sealgate/observability';
import type { Sql } from '@sealgate/storage';
import { askWitness, type WitnessAnswer, type WitnessOutcome } from './ask-witness.ts';
import type { CheckedCheckpoint } from './checked-checkpoint.ts';
import { tileReader } from './tile-store.ts';

export interface WitnessingOptions {
  readonly sql: Sql;
  /** Its witnesses have URLs. */
  readonly policy: LogPolicy;
  /** How long a checkpoint waits for a quorum before it is published with fewer cosignatures. */
  readonly waitMs: number;
  /** A log's next checkpoint is taken up no sooner after this one was: cosigning each would cost the writes of a busy log. */
  readonly restMs: number;
  /** How long a witness may take. */
  readonly answerWithinMs: number;
  readonly checked: CheckedCheckpoint;
  readonly log: Log;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly onAnswer?: (witness: string, outcome: WitnessOutcome) => void;
}

/** Logs that are cosigned at a time: so many statements and, with each witness, so many connections at most. */
const LOGS_AT_ONCE = 4;
const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 60_000;
const QUERY_WITHIN_MS = 5000;
/** Logs that a look for what is not published takes up. */
const MOST_UNPUBLISHED = 500;

interface Signed {
  readonly note: string;
  readonly checkpoint: Checkpoint;
}

/** What is known of a witness for one log. */
interface Standing {
  /** The tree that it cosigned last. */
  size: number;
  /** After a failure it is not asked before. */
  notBeforeMs: number;
  pauseMs: number;
  told: string;
  isAsked: boolean;
}

/**
 * Has checkpoints cosigned, one of each log at a time and always the newest, and publishes each with a quorum of cosignatures,
 * or after `waitMs` with those there are. Nothing waits for it: `offer` takes a note and returns. What a crash leaves
 * unpublished, or with too few cosignatures, `lookAgain` takes up.
 */
export class Witnessing {
  readonly #options: WitnessingOptions;
  /** The newest checkpoint of each log that is not taken up: later ones take its place, so it is bounded by the logs. */
  readonly #waiting = new Map<string, Signed>();
  readonly #running = new Map<string, Promise<void>>();
  /** Logs that were taken up less than `restMs` ago. They hold up no other log. */
  readonly #resting = new Set<string>();
  /** What is published with too few cosignatures, so that those it has are not lost when it is taken up again. */
  readonly #short = new Map<string, { readonly note: string; readonly lines: Map<string, string> }>();
  readonly #standings = new Map<string, Standing>();
  readonly #ending = new AbortController();
  readonly #timers = new Set<NodeJS.Timeout>();

  constructor(options: WitnessingOptions) {
    this.#options = options;
  }

  /** Logs that are published with fewer cosignatures than the policy asks for, as this process knows. */
  get short(): number {
    return this.#short.size;
  }

  /** From now on logs are shown by what is published. */
  async begin(): Promise<void> {
    await this.#options.sql.query({ text: 'SELECT ledger.publish_cosigned_v1()' }, { deadlineMs: QUERY_WITHIN_MS });
  }

  /** A checkpoint was signed, and is in the database. */
  offer(log: string, note: string): void {
    if (this.#ending.signal.aborted) return;
    this.#waiting.set(log, { note, checkpoint: this.#options.checked(log, note) });
    this.#takeUp();
  }

  /** Offers what is not published, or short of cosignatures. */
  async lookAgain(): Promise<void> {
    const rows = await this.#options.sql.query<{ log: string; note: string }>(
      { text: 'SELECT log, note FROM ledger.unpublished_v1($1)', values: [MOST_UNPUBLISHED] },
      { deadlineMs: QUERY_WITHIN_MS },
    );
    for (const { log, note } of rows) if (!this.#running.has(log) && !this.#waiting.has(log)) this.offer(log, note);
  }

  /** Ends what is under way: it is taken up by the next process. */
  async stop(): Promise<void> {
    this.#ending.abort();
    this.#waiting.clear();
    await Promise.allSettled(this.#running.values());
    for (const timer of this.#timers) clearTimeout(timer);
  }

  #takeUp(): void {
    for (const [log, signed] of this.#waiting) {
      if (this.#running.size >= LOGS_AT_ONCE) return;
      if (this.#running.has(log) || this.#resting.has(log)) continue;
      this.#waiting.delete(log);
      this.#resting.add(log);
      void this.#rest(log);
      const round = this.#cosign(log, signed)
        .catch((error: unknown) => this.#options.log.warn('checkpoint_not_published', { log, reason: String(error) }))
        .finally(() => {
          this.#running.delete(log);
          this.#takeUp();
        });
      this.#running.set(log, round);
    }
  }

  async #rest(log: string): Promise<void> {
    // Ends early, where everything ends.
    await delay(this.#options.restMs, undefined, { signal: this.#ending.signal }).catch(() => undefined);
    this.#resting.delete(log);
    this.#takeUp();
  }

  /** One checkpoint, from the first question to what is published of it. */
  async #cosign(log: string, signed: Signed): Promise<void> {
    const { policy } = this.#options;
    const before = this.#short.get(log);
    const lines = before?.note === signed.note ? before.lines : new Map<string, string>();
    const isQuorum = () => policy.isQuorum(new Set(lines.keys()));
    const missing = policy.witnesses.filter(({ name }) => !lines.has(name));
    const asked = missing.map(async (witness) => {
      const line = await this.#ask(log, signed, witness);
      if (line !== undefined) lines.set(witness.name, line);
    });
    await new Promise<void>((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#timers.delete(timer);
        resolve();
      };
      const timer = setTimeout(done, this.#options.waitMs);
      this.#timers.add(timer);
      // A quorum is enough. What a slower one answers counts where the checkpoint is taken up again.
      for (const each of asked) void each.then(() => isQuorum() && done());
      void Promise.all(asked).then(done);
    });
    if (this.#ending.signal.aborted) return;
    const isShort = !isQuorum();
    await this.#options.sql.query(
      {
        text: 'SELECT ledger.publish_v1($1, $2, $3, $4)',
        values: [log, signed.checkpoint.size, signed.note + [...lines.values()].join(''), isShort],
      },
      { deadlineMs: QUERY_WITHIN_MS },
    );
    if (isShort) this.#short.set(log, { note: signed.note, lines });
    else this.#short.delete(log);
  }

  /** The signature line of a witness; undefined where it gives none now. A witness is asked one thing of a log at a time. */
  async #ask(log: string, { note, checkpoint }: Signed, witness: PolicyWitness): Promise<string | undefined> {
    const { sql, now, answerWithinMs, onAnswer } = this.#options;
    const standing = this.#standingOf(log, witness.name);
    if (standing.isAsked || now() < standing.notBeforeMs) return undefined;
    standing.isAsked = true;
    try {
      const answer = await askWitness(witness, {
        ...{ note, checkpoint, oldSize: standing.size, nowSeconds: Math.floor(now() / 1000) },
        pathFrom: (size) => consistencyPath(size, checkpoint.size, tileReader(sql, log, QUERY_WITHIN_MS)),
        signal: AbortSignal.any([this.#ending.signal, AbortSignal.timeout(answerWithinMs)]),
      });
      if (this.#ending.signal.aborted) return undefined;
      onAnswer?.(witness.name, answer.outcome);
      this.#learn(log, { witness: witness.name, standing, answer });
      return answer.outcome === 'cosigned' ? answer.line : undefined;
    } catch (error) {
      // The tiles could not be read: the witness has no part in it.
      this.#options.log.warn('witness_not_asked', { log, witness: witness.name, reason: String(error) });
      return undefined;
    } finally {
      standing.isAsked = false;
    }
  }

  #standingOf(log: string, witness: string): Standing {
    const name = `${witness} ${log}`;
    const known = this.#standings.get(name);
    if (known !== undefined) return known;
    // A witness that has cosigned something says how much when it is asked.
    const standing = { size: 0, notBeforeMs: 0, pauseMs: FIRST_PAUSE_MS, told: '', isAsked: false };
    this.#standings.set(name, standing);
    return standing;
  }

  /** A failure is told once, until something else happens; what contradicts the log is told to a person. */
  #learn(
    log: string,
    { witness, standing, answer }: { witness: string; standing: Standing; answer: WitnessAnswer },
  ): void {
    const { now } = this.#options;
    standing.size = answer.size ?? 0;
    const isGood = answer.outcome === 'cosigned';
    standing.notBeforeMs = isGood ? 0 : now() + standing.pauseMs;
    standing.pauseMs = isGood ? FIRST_PAUSE_MS : Math.min(standing.pauseMs * 2, LONGEST_PAUSE_MS);
    const { told } = standing;
    standing.told = answer.outcome;
    if (told === answer.outcome || (isGood && told === '')) return;
    if (isGood) return this.#options.log.info('witness_cosigns_again', { log, witness });
    const level = answer.outcome === 'contradicted' ? 'error' : 'warn';
    this.#options.log[level]('witness_did_not_cosign', {
      log,
      witness,
      outcome: answer.outcome,
      reason: answer.detail,
    });
  }
}
