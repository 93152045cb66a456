import { failed, NOT_ATTEMPTED, UNKNOWN_CHAINCODE, type AssetResult } from './asset-result.ts';
import type { Batch, Plan } from './plan-batches.ts';
import { writeBatch, type BatchOutcome, type BatchWriter } from './write-batch.ts';

export interface RunOptions extends BatchWriter {
  readonly continueOnError: boolean;
  /** Batches under way at once where one that fails does not keep the others back. */
  readonly batchesAtOnce: number;
  /** Asked before each batch; what is not begun by then is not attempted. */
  readonly mayGoOn: () => boolean;
  /** Given the results each time they have grown, and awaited. */
  readonly onProgress?: (results: readonly (AssetResult | undefined)[], batch: Batch) => Promise<void>;
}

export interface RunOutcome extends Pick<BatchOutcome, 'lost' | 'sent'> {
  /** One for each place of the request. Undefined: not sent, because the ledger was lost or the time was over. */
  readonly results: readonly (AssetResult | undefined)[];
  /** By place, why what has no result was not sent, where that is because its channel is halted. */
  readonly halted: ReadonlyMap<number, string>;
}

const TAKEN_IN_REQUEST = failed(
  'RECORD_CONFLICT',
  'An earlier asset of the request has this id and other content.',
  false,
);

/**
 * Sends the batches of a plan that have no result yet. Without `continueOnError` they go one after another, and behind a
 * batch in which an asset failed, or whose channel is halted, nothing is attempted; with it several are under way at once, and
 * a halted channel keeps none of another channel back.
 */
export async function runPlan(
  plan: Plan,
  options: RunOptions,
  known: readonly (AssetResult | undefined)[] = [],
): Promise<RunOutcome> {
  const run = new Run(plan, options, known);
  const width = options.continueOnError ? options.batchesAtOnce : 1;
  const rest = plan.batches.values();
  const work = async () => {
    for (const batch of rest) if (!(await run.send(batch))) return;
  };
  await Promise.all(Array.from({ length: Math.min(width, plan.batches.length) }, work));
  return run.outcome();
}

class Run {
  readonly #plan: Plan;
  readonly #options: RunOptions;
  readonly #results: (AssetResult | undefined)[];
  #lost: BatchOutcome['lost'];
  /** By channel, why it takes nothing. */
  readonly #halted = new Map<string, string>();
  #sent = false;
  /** A batch failed, and those behind it are not attempted. */
  #ended = false;

  constructor(plan: Plan, options: RunOptions, known: readonly (AssetResult | undefined)[]) {
    this.#plan = plan;
    this.#options = options;
    this.#results = plan.ids.map((_, index) => known[index]);
    for (const index of plan.unmapped) this.#results[index] = UNKNOWN_CHAINCODE;
  }

  /** False: no further batch is to be sent. */
  async send(batch: Batch): Promise<boolean> {
    const { continueOnError, mayGoOn, onProgress } = this.#options;
    if (this.#ended) return this.#skip(batch);
    if (this.#lost !== undefined || this.#haltOf(batch) !== undefined || !mayGoOn()) return true;
    const open = batch.assets.filter((_, at) => this.#results[batch.indexes[at]!] === undefined);
    if (open.length > 0) {
      const outcome = await writeBatch(this.#options, batch.target, open);
      this.#lost ??= outcome.lost;
      if (outcome.halted !== undefined) this.#halted.set(batch.target.channel, outcome.halted);
      this.#sent ||= outcome.sent;
      batch.assets.forEach(({ id }, at) => (this.#results[batch.indexes[at]!] ??= outcome.results.get(id)));
    }
    for (const index of batch.refusedIndexes) this.#results[index] = TAKEN_IN_REQUEST;
    if (!continueOnError && this.#hasFailed(batch)) this.#ended = true;
    await onProgress?.(this.#results, batch);
    return true;
  }

  outcome(): RunOutcome {
    for (const [index, first] of this.#plan.repeats) this.#results[index] = this.#results[first];
    const halted = new Map<number, string>();
    for (const batch of this.#plan.batches) {
      const why = this.#haltOf(batch);
      if (why !== undefined) for (const index of [...batch.indexes, ...batch.refusedIndexes]) halted.set(index, why);
    }
    for (const [index, first] of this.#plan.repeats) if (halted.has(first)) halted.set(index, halted.get(first)!);
    return { results: this.#results, lost: this.#lost, halted, sent: this.#sent };
  }

  /** Why a batch is not sent: its channel is halted or, where batches go one after another, that of one before it. */
  #haltOf({ target }: Batch): string | undefined {
    const [first] = this.#halted.values();
    return this.#options.continueOnError ? this.#halted.get(target.channel) : first;
  }

  #skip({ indexes, refusedIndexes }: Batch): boolean {
    for (const index of [...indexes, ...refusedIndexes]) this.#results[index] ??= NOT_ATTEMPTED;
    return true;
  }

  #hasFailed({ indexes, refusedIndexes }: Batch): boolean {
    return refusedIndexes.length > 0 || indexes.some((index) => this.#results[index]?.state === 'failed');
  }
}
