import type { JsonValue } from '@sealgate/json';
import type { FailureCode } from './asset-result.ts';
import type { Target } from './mapping.ts';

/** An asset as it is sent to the ledger. */
export interface NewAsset {
  readonly id: string;
  readonly type: string;
  readonly data: JsonValue;
  /** The data as canonical JSON (RFC 8785). */
  readonly text: string;
}

/** One transaction of the ledger and which of the assets of a write it holds. */
export interface WrittenTransaction {
  readonly transactionId: string;
  /** The block on Fabric, the transaction's first index in the embedded ledger; null where it is not known. */
  readonly blockNumber: number | null;
  readonly assetIds: readonly string[];
}

/**
 * What became of one write.
 * - committed: every asset is in the ledger, by this write or by an earlier one with the same content
 * - refused: the contract did not take the transaction, so nothing of it was written. `id` names the asset at fault where
 *   that is known; where it is not, a part of the same assets may be taken
 * - failed: nothing was written, and no part of it is worth another try now
 * - unknown: it may have been written; ask again with `settle`
 * - halted: nothing was written, and the channel takes nothing now; others may. `message` says why
 * - unavailable, overloaded: nothing was written, and no channel takes anything now
 */
export type WriteOutcome =
  | { readonly outcome: 'committed'; readonly transactions: readonly WrittenTransaction[] }
  | { readonly outcome: 'refused'; readonly code: FailureCode; readonly message: string; readonly id?: string }
  | { readonly outcome: 'failed'; readonly code: FailureCode; readonly message: string; readonly retryable: boolean }
  | { readonly outcome: 'unknown'; readonly transactionId: string }
  | { readonly outcome: 'halted'; readonly message: string }
  | { readonly outcome: 'unavailable' | 'overloaded' };

/**
 * `again`: the transaction is not in the ledger and never will be, or writing the same assets again cannot write them
 * twice: write them again.
 */
export type SettleOutcome = WriteOutcome | { readonly outcome: 'again' };

/** What a read query returned. */
export interface FoundAsset {
  /** As JSON text. */
  readonly text: string;
  /** Undefined where a contract of others keeps it: what it returns for an id is its own to decide. */
  readonly type: string | undefined;
}

export interface AssetQuery {
  readonly type: string;
  readonly limit: number;
  /** What `next` of the page before was; undefined: from the first. */
  readonly after: JsonValue | undefined;
}

export interface AssetPage {
  /** By id in code point order, each as the query returned it. */
  readonly assets: readonly JsonValue[];
  /** Undefined exactly on the last page. */
  readonly next: JsonValue | undefined;
}

/** What this surface asks of a ledger. Every call ends within the driver's own deadline. */
export interface AssetLedger {
  /** Whether several assets may be one transaction of this target. */
  takesMany(target: Target): boolean;
  /**
   * Writes the assets as one transaction; no id twice. Never rejects for what a ledger can answer. With the id of a job,
   * what an earlier run of the job has sent of these very assets is found before anything is sent again.
   */
  write(target: Target, assets: readonly NewAsset[], jobId?: string): Promise<WriteOutcome>;
  /** What became of a write whose outcome was unknown. */
  settle(target: Target, assets: readonly NewAsset[], transactionId: string): Promise<SettleOutcome>;
  /** Undefined: there is no such asset. Rejects with LedgerUnavailableError. */
  read(target: Target, id: string): Promise<FoundAsset | undefined>;
  /** Rejects with LedgerUnavailableError. */
  query(target: Target, query: AssetQuery): Promise<AssetPage>;
}
