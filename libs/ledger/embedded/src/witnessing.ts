import { setTimeout as delay } from 'node:timers/promises';
import { parseLogName } from '@sealgate/envelope';
import {
  type Checkpoint,
  consistencyPath,
  type LogPolicy,
  type NoteVerifier,
  type PolicyWitness,
  parsePolicy,
} from '@sealgate/merkle';
import type { Log } from '@sealgate/observability';
import { backgroundLoop, type Database, reasonOf, type Sql } from '@sealgate/storage';
import { askWitness, WITNESS_OUTCOMES, type WitnessAnswer, type WitnessOutcome } from './ask-witness.ts';
import { checkedCheckpoints, type CheckedCheckpoint } from './checked-checkpoint.ts';
import { isOutage } from './database-problem.ts';
import { tileReader } from './tile-store.ts';
import type { OpenLedgerOptions } from './open-ledger-options.ts';

interface WitnessingOptions {
  readonly sql: Sql;
  /** The policy of a log, all of whose witnesses have URLs. */
  readonly policyOf: (log: string) => LogPolicy;
  /** How long a checkpoint waits for a quorum before it is published with fewer cosignatures. */
  readonly waitMs: number;
  /** Minimum interval between cosigned checkpoints of a log: cosigning each would slow down a busy log. */
  readonly restMs: number;
  /** Timeout of a witness. */
  readonly answerWithinMs: number;
  readonly checked: CheckedCheckpoint;
  readonly log: Log;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly onAnswer?: (witness: string, outcome: WitnessOutcome) => void;
}

/** Logs cosigned concurrently; bounds the statements and the connections to each witness. */
const LOGS_AT_ONCE = 4;
const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 60_000;
const QUERY_WITHIN_MS = 5000;
/** Maximum unpublished logs read at once. */
const MAX_UNPUBLISHED = 500;

interface Signed {
  readonly note: string;
  readonly checkpoint: Checkpoint;
}

/** State of a witness for one log. */
interface WitnessState {
  /** Size of the tree that it cosigned last. */
  size: number;
  /** Not asked before this time, after a failure. */
  notBeforeMs: number;
  pauseMs: number;
  lastOutcome: string;
  isAsked: boolean;
}

/**
 * Has checkpoints cosigned, always the newest and one at a time per log, and publishes each with a quorum of
 * cosignatures, or after `waitMs` with those available. It never blocks: `offer` takes a note and returns.
 * `offerUnpublished` picks up what a crash left unpublished or short of cosignatures.
 */
export class Witnessing {
  readonly #options: WitnessingOptions;
  /**
   * The newest checkpoint of each log to be cosigned. Newer ones replace older ones, so the number of logs bounds it.
   */
  readonly #waiting = new Map<string, Signed>();
  readonly #running = new Map<string, Promise<void>>();
  /** Logs whose last round began less than `restMs` ago. They do not hold up other logs. */
  readonly #resting = new Set<string>();
  /** Published checkpoints short of cosignatures, with those received, so that a retry does not lose them. */
  readonly #short = new Map<string, { readonly note: string; readonly lines: Map<string, string> }>();
  readonly #states = new Map<string, WitnessState>();
  readonly #ending = new AbortController();
  readonly #timers = new Set<NodeJS.Timeout>();

  constructor(options: WitnessingOptions) {
    this.#options = options;
  }

  /** Number of logs published with fewer cosignatures than the policy requires, as far as this process knows. */
  get short(): number {
    return this.#short.size;
  }

  /** Switches logs to showing their published checkpoint. */
  async begin(): Promise<void> {
    await this.#options.sql.query({ text: 'SELECT ledger.publish_cosigned()' }, { deadlineMs: QUERY_WITHIN_MS });
  }

  /** Queues a signed checkpoint that is in the database. */
  offer(log: string, note: string): void {
    if (this.#ending.signal.aborted) return;
    this.#waiting.set(log, { note, checkpoint: this.#options.checked(log, note) });
    this.#startWaiting();
  }

  /** Queues checkpoints that are unpublished or short of cosignatures. */
  async offerUnpublished(): Promise<void> {
    const rows = await this.#options.sql.query<{ log: string; note: string }>(
      { text: 'SELECT log, note FROM ledger.unpublished($1)', values: [MAX_UNPUBLISHED] },
      { deadlineMs: QUERY_WITHIN_MS },
    );
    for (const { log, note } of rows) if (!this.#running.has(log) && !this.#waiting.has(log)) this.offer(log, note);
  }

  /** Aborts rounds in progress: the next process picks them up. */
  async stop(): Promise<void> {
    this.#ending.abort();
    this.#waiting.clear();
    await Promise.allSettled(this.#running.values());
    for (const timer of this.#timers) clearTimeout(timer);
  }

  #startWaiting(): void {
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
          this.#startWaiting();
        });
      this.#running.set(log, round);
    }
  }

  async #rest(log: string): Promise<void> {
    // Aborted by `stop`.
    await delay(this.#options.restMs, undefined, { signal: this.#ending.signal }).catch(() => undefined);
    this.#resting.delete(log);
    this.#startWaiting();
  }

  /** Cosigns one checkpoint and publishes the result. */
  async #cosign(log: string, signed: Signed): Promise<void> {
    const policy = this.#options.policyOf(log);
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
      // A quorum is enough. The answer of a slower witness counts if the checkpoint is retried.
      for (const each of asked) void each.then(() => isQuorum() && done());
      void Promise.all(asked).then(done);
    });
    if (this.#ending.signal.aborted) return;
    const isShort = !isQuorum();
    await this.#options.sql.query(
      {
        text: 'SELECT ledger.publish($1, $2, $3, $4)',
        values: [log, signed.checkpoint.size, signed.note + [...lines.values()].join(''), isShort],
      },
      { deadlineMs: QUERY_WITHIN_MS },
    );
    if (isShort) this.#short.set(log, { note: signed.note, lines });
    else this.#short.delete(log);
  }

  /** The signature line of a witness; undefined if there is none now. A witness gets one request per log at a time. */
  async #ask(log: string, { note, checkpoint }: Signed, witness: PolicyWitness): Promise<string | undefined> {
    const { sql, now, answerWithinMs, onAnswer } = this.#options;
    const state = this.#stateOf(log, witness.name);
    if (state.isAsked || now() < state.notBeforeMs) return undefined;
    state.isAsked = true;
    try {
      const answer = await askWitness(witness, {
        note,
        checkpoint,
        oldSize: state.size,
        nowSeconds: Math.floor(now() / 1000),
        pathFrom: (size) => consistencyPath(size, checkpoint.size, tileReader(sql, log, QUERY_WITHIN_MS)),
        signal: AbortSignal.any([this.#ending.signal, AbortSignal.timeout(answerWithinMs)]),
      });
      if (this.#ending.signal.aborted) return undefined;
      onAnswer?.(witness.name, answer.outcome);
      this.#record(log, { witness: witness.name, state, answer });
      return answer.outcome === 'cosigned' ? answer.line : undefined;
    } catch (error) {
      // Reading the tiles failed; the witness was not involved.
      this.#options.log.warn('witness_not_asked', { log, witness: witness.name, reason: String(error) });
      return undefined;
    } finally {
      state.isAsked = false;
    }
  }

  #stateOf(log: string, witness: string): WitnessState {
    const name = `${witness} ${log}`;
    const known = this.#states.get(name);
    if (known !== undefined) return known;
    // A witness that has cosigned this log answers with the size of its tree.
    const state = { size: 0, notBeforeMs: 0, pauseMs: FIRST_PAUSE_MS, lastOutcome: '', isAsked: false };
    this.#states.set(name, state);
    return state;
  }

  /** Logs each failure once until the outcome changes; a contradiction is an error, because a person must act. */
  #record(
    log: string,
    { witness, state, answer }: { witness: string; state: WitnessState; answer: WitnessAnswer },
  ): void {
    const { now } = this.#options;
    state.size = answer.size ?? 0;
    const isGood = answer.outcome === 'cosigned';
    state.notBeforeMs = isGood ? 0 : now() + state.pauseMs;
    state.pauseMs = isGood ? FIRST_PAUSE_MS : Math.min(state.pauseMs * 2, LONGEST_PAUSE_MS);
    const { lastOutcome } = state;
    state.lastOutcome = answer.outcome;
    if (lastOutcome === answer.outcome || (isGood && lastOutcome === '')) return;
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

const WITNESS_WAIT_MS = 5000;
const WITNESS_WITHIN_MS = 10_000;
const REST_MS = 500;
const OFFER_UNPUBLISHED_EVERY_MS = 5000;

/** The policy of logs without witnesses, where others have some. */
const NO_WITNESSES = parsePolicy('quorum none');

/** Undefined if this process does not integrate, or no witness is configured. */
export function openWitnessing(
  { config, sql, now, log, metrics }: Pick<OpenLedgerOptions, 'config' | 'sql' | 'now' | 'log' | 'metrics'>,
  verifier: NoteVerifier | undefined,
): Witnessing | undefined {
  const { checkpointDir, ledgerWitnesses, ledgerWitnessWaitMs: waitMs = WITNESS_WAIT_MS } = config;
  const ofChannels = config.ledgerChannelWitnesses ?? new Map<string, LogPolicy>();
  const ofAll = ledgerWitnesses ?? NO_WITNESSES;
  const witnesses = [ofAll, ...ofChannels.values()].flatMap((policy) => policy.witnesses.map(({ name }) => name));
  if (!config.ledgerIntegrator || checkpointDir === undefined || witnesses.length === 0) return undefined;
  const policyOf: WitnessingOptions['policyOf'] = (of) => ofChannels.get(parseLogName(of)?.channel ?? of) ?? ofAll;
  const answers = metrics.counter({
    name: 'ledger_witness_answers_total',
    help: 'Cosigning requests to witnesses, by outcome.',
    labels: { witness: [...new Set(witnesses)], outcome: WITNESS_OUTCOMES },
  });
  const witnessing = new Witnessing({
    sql,
    policyOf,
    waitMs,
    log,
    now,
    restMs: REST_MS,
    answerWithinMs: WITNESS_WITHIN_MS,
    checked: checkedCheckpoints(config.ledgerOrigin, verifier),
    onAnswer: (witness, outcome) => answers.child({ witness, outcome }).inc(),
  });
  metrics.observedGauge({
    name: 'ledger_uncosigned_logs',
    help: 'Logs whose published checkpoint has fewer cosignatures than the policy requires.',
    read: () => witnessing.short,
  });
  return witnessing;
}

/** With witnesses, logs show their published checkpoint; without, the signed one. */
export async function startPublishing(sql: Database, witnessing: Witnessing | undefined): Promise<void> {
  if (witnessing !== undefined) return witnessing.begin();
  await sql.query({ text: 'SELECT ledger.publish_signed()' });
}

/** Periodically retries logs that are unpublished or short of cosignatures. Returns the function that stops it. */
export function keepCosigning(witnessing: Witnessing, log: Log): () => Promise<void> {
  const loop = backgroundLoop({
    work: () => witnessing.offerUnpublished(),
    pauseMs: OFFER_UNPUBLISHED_EVERY_MS,
    // Readiness reports database outages.
    onFailure: (error) => isOutage(error) || log.warn('witnesses_failed', { reason: reasonOf(error) }),
  });
  return async () => {
    await loop.stop();
    await witnessing.stop();
  };
}
