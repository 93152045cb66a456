import { failed, NOT_ATTEMPTED, UNKNOWN_CHAINCODE, type AssetResult } from './asset-result.ts';
import type { AssetLedger } from './asset-ledger.ts';
import type { Batch, Plan } from './plan-batches.ts';
import { writeBatch, type BatchOutcome, type BatchWriter } from './write-batch.ts';

export interface RunOptions extends BatchWriter {
  readonly continueOnError: boolean;
  /** Concurrent batches with `continueOnError`. */
  readonly batchesAtOnce: number;
  /** Called before each batch; what has not started by then is not attempted. */
  readonly mayGoOn: () => boolean;
  /** Awaited with the results each time they have grown. */
  readonly onProgress?: (results: readonly (AssetResult | undefined)[], batch: Batch) => Promise<void>;
}

export interface RunOutcome extends Pick<BatchOutcome, 'lost' | 'sent'> {
  /**
   * One for each asset of the request. Undefined: not sent, because the ledger was unavailable or the time was over.
   */
  readonly results: readonly (AssetResult | undefined)[];
  /** By index, why an asset without a result was not sent, if its channel is halted. */
  readonly halted: ReadonlyMap<number, string>;
}

/** What the contracts return to one request in all, in characters. */
const MAX_RETURNED = 1_048_576;

const TAKEN_IN_REQUEST = failed(
  'RECORD_CONFLICT',
  'An earlier asset of the request has this id and other content.',
  false,
);

/**
 * Sends the batches of a plan that have no result yet. Without `continueOnError` they run one after another, and
 * nothing is attempted after a batch with a failed asset or a halted channel; with it several run concurrently, and a
 * halted channel does not hold back other channels.
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

/**
 * Adds what earlier runs of a job have sent to its known results.
 * @throws LedgerUnavailableError if that cannot be asked.
 */
export async function recallResults(
  ledger: AssetLedger,
  { jobId, plan }: { readonly jobId: string; readonly plan: Plan },
  known: (AssetResult | undefined)[],
): Promise<void> {
  const open = plan.batches.filter(({ indexes }) => indexes.some((index) => known[index] === undefined));
  if (open.length === 0) return;
  const recalled = await ledger.recall(jobId, open);
  open.forEach(({ assets, indexes }, part) => {
    assets.forEach(({ id }, at) => (known[indexes[at]!] ??= recalled[part]?.get(id)));
  });
}

class Run {
  readonly #plan: Plan;
  readonly #options: RunOptions;
  readonly #results: (AssetResult | undefined)[];
  #lost: BatchOutcome['lost'];
  /** By channel, why it accepts no writes. */
  readonly #halted = new Map<string, string>();
  /** Length of what the contracts returned. */
  #returned = 0;
  #sent = false;
  /** A batch failed, so later ones are not attempted. */
  #ended = false;

  constructor(plan: Plan, options: RunOptions, known: readonly (AssetResult | undefined)[]) {
    this.#plan = plan;
    this.#options = options;
    this.#results = plan.ids.map((_, index) => (plan.repeats.has(index) ? undefined : this.#limited(known[index])));
    // What was sent when its type was still mapped stays what it was.
    for (const index of plan.unmapped) this.#results[index] ??= UNKNOWN_CHAINCODE;
  }

  /** False: no further batch is sent. */
  async send(batch: Batch): Promise<boolean> {
    const { continueOnError, mayGoOn, onProgress } = this.#options;
    if (this.#ended) return this.#skip(batch);
    if (this.#lost !== undefined || this.#haltOf(batch) !== undefined || !mayGoOn()) return true;
    const open = batch.assets.filter((_, at) => this.#results[batch.indexes[at]!] === undefined);
    if (open.length > 0) {
      const outcome = await writeBatch(this.#options, batch.target, open);
      if (outcome.lost === 'unsure' || this.#lost === undefined) this.#lost = outcome.lost;
      if (outcome.halted !== undefined) this.#halted.set(batch.target.channel, outcome.halted);
      this.#sent ||= outcome.sent;
      batch.assets.forEach(
        ({ id }, at) => (this.#results[batch.indexes[at]!] ??= this.#limited(outcome.results.get(id))),
      );
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

  /** Why a batch is not sent: its channel is halted or, with sequential batches, that of an earlier one. */
  #haltOf({ target }: Batch): string | undefined {
    const [first] = this.#halted.values();
    return this.#options.continueOnError ? this.#halted.get(target.channel) : first;
  }

  /** The result without what the contract returned, once all of the request have returned too much. */
  #limited(result: AssetResult | undefined): AssetResult | undefined {
    if (result?.state !== 'succeeded' || result.returned === undefined) return result;
    const { length } = result.returned.json;
    if (this.#returned + length > MAX_RETURNED) return { ...result, returned: { json: 'null', truncated: true } };
    this.#returned += length;
    return result;
  }

  #skip({ indexes, refusedIndexes }: Batch): boolean {
    for (const index of [...indexes, ...refusedIndexes]) this.#results[index] ??= NOT_ATTEMPTED;
    return true;
  }

  #hasFailed({ indexes, refusedIndexes }: Batch): boolean {
    return refusedIndexes.length > 0 || indexes.some((index) => this.#results[index]?.state === 'failed');
  }
}
