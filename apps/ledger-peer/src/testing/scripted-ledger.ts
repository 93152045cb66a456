import type { AssetResult } from '../domain/asset-result.ts';
import type { AssetLedger, NewAsset, SettleOutcome, WriteOutcome } from '../domain/asset-ledger.ts';

/** A ledger that rejects, loses and settles writes as scripted, and accepts all others; it records what was sent. */
export interface ScriptedLedger extends AssetLedger {
  /** The ids of each write, in order of arrival. */
  readonly writes: string[][];
  readonly settled: string[];
  /** The identity of each write, if it has one. */
  readonly signers: (string | undefined)[];
}

export interface Script {
  readonly takesMany?: boolean;
  /** Undefined: accepted. */
  readonly write?: (ids: readonly string[], assets: readonly NewAsset[]) => WriteOutcome | undefined;
  readonly settle?: (transactionId: string, ids: readonly string[]) => SettleOutcome;
  /** Results of earlier runs of a job by id; default: none. May throw. */
  readonly recall?: (jobId: string) => ReadonlyMap<string, AssetResult>;
}

export function scriptedLedger({ takesMany = true, write, settle, recall }: Script = {}): ScriptedLedger {
  const writes: string[][] = [];
  const settled: string[] = [];
  const signers: (string | undefined)[] = [];
  let transactions = 0;
  const signing = (identity: string | undefined): ScriptedLedger => ({
    writes,
    settled,
    signers,
    as: signing,
    takesMany: () => takesMany,
    async write(_target, assets) {
      const ids = assets.map(({ id }) => id);
      writes.push(ids);
      signers.push(identity);
      const said = write?.(ids, assets);
      if (said !== undefined) return said;
      transactions += 1;
      const transactionId = `t${transactions}`;
      return { outcome: 'committed', transactions: [{ transactionId, blockNumber: transactions, assetIds: ids }] };
    },
    async recall(jobId, parts) {
      const known = recall?.(jobId) ?? new Map<string, AssetResult>();
      return parts.map(() => known);
    },
    async settle(_target, assets, transactionId) {
      settled.push(transactionId);
      return (
        settle?.(
          transactionId,
          assets.map(({ id }) => id),
        ) ?? { outcome: 'again' }
      );
    },
    read: () => Promise.resolve(undefined),
    query: () => Promise.resolve({ assets: [], next: undefined }),
  });
  return signing(undefined);
}

export const refusedFor = (id: string): WriteOutcome => ({
  outcome: 'refused',
  code: 'RECORD_CONFLICT',
  message: 'Taken.',
  id,
});
