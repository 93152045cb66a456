import { defined } from '@sealgate/json';
import { LedgerUnavailableError } from '@sealgate/ledger-port';
import { writeOptions, type WriteOrder } from './asset.ts';
import { signedBy, type AssetLedger, type SettleOutcome } from './asset-ledger.ts';
import { failed, NEVER_TOLD, succeededResults, type AssetResult } from './asset-result.ts';
import type { RunningJobs, TakenJob } from './jobs.ts';
import type { Mappings, Target } from './mapping.ts';
import { planBatches, type Batch, type Plan } from './plan-batches.ts';
import { renderSummary } from './render-summary.ts';
import { recallResults, runPlan } from './run-plan.ts';
import { joinOrder } from './transient-members.ts';

export interface RunJobPorts {
  readonly ledger: AssetLedger;
  readonly mappings: Mappings;
  readonly jobs: RunningJobs;
  readonly batchMaxBytes: number;
  readonly batchesAtOnce: number;
}

type Results = (AssetResult | undefined)[];

/**
 * Continues a job: settles unknown outcomes, and sends the rest. Safe to repeat after a kill at any point: what was
 * sent is settled before anything is sent again, and an id is written once.
 * @returns whether it is done; if not, it must be run again later.
 */
export async function runJob(ports: RunJobPorts, job: TakenJob, mayGoOn: () => boolean): Promise<boolean> {
  const body = joinOrder(job.body, job.openTransient?.(), ports.mappings);
  const { batchSize, continueOnError } = writeOptions(body);
  const plan = planBatches(body.assets, ports.mappings, { batchSize, maxBytes: ports.batchMaxBytes });
  const known: Results = plan.ids.map((_, index) => job.results[index]);
  const ledger = signedBy(ports.ledger, job.identity);
  await settlePending(ledger, plan, known);
  try {
    await recallResults(ledger, { jobId: job.jobId, plan }, known);
  } catch (error) {
    if (!(error instanceof LedgerUnavailableError)) throw error;
    // What was sent is not known: nothing is sent now.
    await ports.jobs.saveResults(job.jobId, known);
    return false;
  }
  const options = {
    ledger,
    jobId: job.jobId,
    continueOnError,
    batchesAtOnce: ports.batchesAtOnce,
    mayGoOn,
    onProgress: (results: readonly (AssetResult | undefined)[], { target }: Batch) =>
      isSafeAgain(target) ? Promise.resolve() : ports.jobs.saveResults(job.jobId, results),
  };
  const { results } = await runPlan(plan, options, known);
  const isDone = results.every((result) => result !== undefined && result.state !== 'pending');
  if (isDone) await ports.jobs.finish(job.jobId, renderSummary(plan.ids, results));
  else await ports.jobs.saveResults(job.jobId, results);
  return isDone;
}

/** With create-once ids a repeated batch finds itself; otherwise the journal must say that it was sent. */
function isSafeAgain({ shape, write }: Target): boolean {
  return shape.kind === 'records' && write === 'create';
}

/** The result of a job that is given up: what has no result may have been written. */
export function abandonedResult(job: TakenJob): string {
  const { assets } = JSON.parse(job.body) as WriteOrder; // The route has validated it.
  const results = assets.map((_, index) => job.results[index] ?? NEVER_TOLD);
  return renderSummary(
    assets.map(({ id }) => id),
    results,
  );
}

async function settlePending(ledger: AssetLedger, plan: Plan, known: Results): Promise<void> {
  for (const batch of plan.batches) {
    const open = batch.indexes.flatMap((index, at) => {
      const result = known[index];
      return result?.state === 'pending' ? [{ index, asset: batch.assets[at]!, result }] : [];
    });
    for (const [transactionId, of] of Map.groupBy(open, ({ result }) => result.transactionId)) {
      const assets = of.map(({ asset }) => asset);
      const outcome = await ledger.settle(batch.target, assets, transactionId);
      for (const { index, asset } of of) known[index] = settledResult(batch, asset.id, outcome, known[index]);
    }
  }
}

/** Undefined: to be written again. */
function settledResult(
  { target }: Batch,
  id: string,
  outcome: SettleOutcome,
  before: AssetResult | undefined,
): AssetResult | undefined {
  switch (outcome.outcome) {
    case 'again':
      return undefined;
    case 'committed': {
      const { transactions } = outcome;
      // Committed, whichever assets the contract names.
      const [unnamed] = transactions.map((transaction) => ({ ...transaction, assetIds: [id] }));
      const its = transactions.find(({ assetIds }) => assetIds.includes(id)) ?? unnamed;
      return its === undefined ? before : new Map(succeededResults(target, its)).get(id);
    }
    case 'refused': {
      const { code, message, contractMessage } = outcome;
      return { state: 'failed', code, message, retryable: false, ...defined({ contractMessage }) };
    }
    case 'failed':
      return failed(outcome.code, outcome.message, outcome.retryable);
    case 'unknown':
    case 'halted':
    case 'unavailable':
    case 'overloaded':
    case 'unsure':
      return before;
  }
}
