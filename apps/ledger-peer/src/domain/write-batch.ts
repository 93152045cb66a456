import type { AssetLedger, NewAsset, WriteOutcome } from './asset-ledger.ts';
import { failed, succeededResults, type AssetResult } from './asset-result.ts';
import type { Target } from './mapping.ts';

export interface BatchOutcome {
  /** By id. */
  readonly results: ReadonlyMap<string, AssetResult>;
  /** The ledger became unavailable: some assets were not sent, or their outcome is unknown. */
  readonly lost: 'unavailable' | 'overloaded' | 'unknown' | 'unsure' | undefined;
  /** Why the channel accepts no writes: some assets were not sent. Undefined if it does. */
  readonly halted: string | undefined;
  /** Something was sent, whatever its outcome. */
  readonly sent: boolean;
}

export interface BatchWriter {
  readonly ledger: AssetLedger;
  /** The job that is running, if any. */
  readonly jobId?: string | undefined;
}

interface Writing extends BatchWriter {
  readonly target: Target;
  readonly results: Map<string, AssetResult>;
  lost: BatchOutcome['lost'];
  halted: string | undefined;
  sent: boolean;
}

/**
 * Writes a batch as one transaction if the contract accepts several assets. If it is rejected, the assets at fault are
 * found by halving, and fail alone. Assets that are not sent, because the ledger is unavailable or the channel is
 * halted, have no result.
 */
export async function writeBatch(
  { ledger, jobId }: BatchWriter,
  target: Target,
  assets: readonly NewAsset[],
): Promise<BatchOutcome> {
  const none = { lost: undefined, halted: undefined, sent: false };
  const writing: Writing = { ledger, jobId, target, results: new Map(), ...none };
  if (ledger.takesMany(target)) await writeTogether(writing, assets);
  else await Promise.all(assets.map((asset) => writeTogether(writing, [asset])));
  return writing;
}

async function writeTogether(writing: Writing, assets: readonly NewAsset[]): Promise<void> {
  // Once the ledger is unavailable, further writes would only make the caller wait for another deadline.
  if (assets.length === 0 || writing.lost !== undefined || writing.halted !== undefined) return;
  const { ledger, jobId, target, results } = writing;
  const result = await ledger.write(target, assets, jobId);
  if (isKeptBack(result)) return keepBack(writing, result);
  writing.sent = true;
  switch (result.outcome) {
    case 'committed':
      for (const transaction of result.transactions)
        for (const [id, told] of succeededResults(target, transaction)) results.set(id, told);
      return;
    case 'unknown':
      writing.lost = 'unknown';
      for (const { id } of assets) results.set(id, { state: 'pending', transactionId: result.transactionId });
      return;
    case 'failed':
      for (const { id } of assets) results.set(id, failed(result.code, result.message, result.retryable));
      return;
    case 'refused':
      return refuse(writing, assets, result);
  }
}

type KeptBack = Extract<WriteOutcome, { readonly outcome: 'halted' | 'unavailable' | 'overloaded' | 'unsure' }>;

const KEPT_BACK: ReadonlySet<WriteOutcome['outcome']> = new Set(['halted', 'unavailable', 'overloaded', 'unsure']);

const isKeptBack = (result: WriteOutcome): result is KeptBack => KEPT_BACK.has(result.outcome);

/** Nothing was sent, and nothing more is sent. */
function keepBack(writing: Writing, result: KeptBack): void {
  if (result.outcome === 'halted') writing.halted ??= result.message;
  else if (result.outcome === 'unsure' || writing.lost === undefined) writing.lost = result.outcome;
}

/** The halves run concurrently: their ids differ, and a ledger that groups writes commits both together. */
async function refuse(
  writing: Writing,
  assets: readonly NewAsset[],
  { outcome: _, id, ...why }: Extract<WriteOutcome, { outcome: 'refused' }>,
): Promise<void> {
  const culprit = assets.length === 1 ? assets[0]?.id : id;
  if (culprit !== undefined) writing.results.set(culprit, { state: 'failed', ...why, retryable: false });
  const rest = assets.filter((asset) => asset.id !== culprit);
  const middle = rest.length >> 1;
  await Promise.all([writeTogether(writing, rest.slice(0, middle)), writeTogether(writing, rest.slice(middle))]);
}
