import type { ProvedOnFabric } from '@sealgate/envelope';
import type { JsonValue } from '@sealgate/json';
import type { AssetQuery, OrderedAsset } from './asset.ts';
import type { AssetResult, Failure, WrittenTransaction } from './asset-result.ts';
import type { Target } from './mapping.ts';

/** An asset to write, or to run an action on. */
export type NewAsset = OrderedAsset & {
  /** `data` as canonical JSON (RFC 8785). */
  readonly text: string;
  /** Texts of its transient members, which `data` and `text` do not have. */
  readonly transient?: Readonly<Record<string, string>>;
};

/**
 * Outcome of one write.
 * - committed: every asset is in the ledger, by this write or by an earlier one with the same content
 * - refused: the contract rejected the transaction, so nothing of it was written. `id` names the asset at fault if
 *   known; otherwise a subset of the assets may be accepted
 * - failed: nothing was written, and retrying does not help now
 * - unknown: it may have been written; call `settle`
 * - unsure: another process runs the same job, and it could not be asked what that one has sent; nothing was written by
 *   this call
 * - halted: nothing was written, and the channel accepts no writes now; others may. `message` says why
 * - unavailable, overloaded: nothing was written, and no channel accepts writes now
 */
export type WriteOutcome =
  | { readonly outcome: 'committed'; readonly transactions: readonly WrittenTransaction[] }
  | ({ readonly outcome: 'refused'; readonly id?: string } & Omit<Failure, 'retryable'>)
  | ({ readonly outcome: 'failed' } & Failure)
  | { readonly outcome: 'unknown'; readonly transactionId: string }
  | { readonly outcome: 'halted'; readonly message: string }
  | { readonly outcome: 'unavailable' | 'overloaded' | 'unsure' };

/**
 * `again`: write the same assets again. The transaction is not in the ledger and never will be, or a second write
 * cannot write them twice.
 */
export type SettleOutcome = WriteOutcome | { readonly outcome: 'again' };

/** Result of a read query. */
export interface FoundAsset {
  /** As JSON text. */
  readonly text: string;
  /** Undefined for a third-party contract: it decides itself what it returns for an id. */
  readonly type: string | undefined;
}

/** The contract answered, but not as the mapping describes it: an operator must correct one of them. */
export class UnreadableAnswerError extends Error {
  override readonly name = 'UnreadableAnswerError';
}

/** The contract refused to answer a read or a query. */
export class ContractRefusal extends Error {
  override readonly name = 'ContractRefusal';
  /** Its own message, at most 1 KiB, without control characters. */
  readonly contractMessage: string;

  constructor(contractMessage: string, options: ErrorOptions) {
    super('The contract refused the call.', options);
    this.contractMessage = contractMessage;
  }
}

/** An asset, as the contract returned it to the peers that signed, with what they signed. */
export interface ProvedAsset extends FoundAsset, ProvedOnFabric {}

export interface PageQuery extends Required<Pick<AssetQuery, 'type' | 'limit'>>, Pick<AssetQuery, 'filter'> {
  /** `next` of the previous page; undefined: from the first. */
  readonly after: JsonValue | undefined;
}

export interface FoundPage {
  /** By id in code point order, each as returned by the query. */
  readonly assets: readonly JsonValue[];
  /** Undefined exactly on the last page. */
  readonly next: JsonValue | undefined;
}

/** Assets of a job that go to one target. */
export interface JobPart {
  readonly target: Target;
  readonly assets: readonly NewAsset[];
}

/** What this surface needs from a ledger. Every call ends within the driver's own deadline. */
export interface AssetLedger {
  /**
   * The same ledger, whose calls are signed as this identity, by name. If the driver does not have it, writes are
   * `unavailable`, reads and queries reject with LedgerUnavailableError, and nothing is sent.
   */
  as(identity: string): AssetLedger;
  /** Whether one transaction of this target can hold several assets. */
  takesMany(target: Target): boolean;
  /**
   * Writes the assets as one transaction; ids are unique in it. Never rejects for a result that a ledger can return.
   * Under one job id the same assets are written once, also by two processes that both run the job.
   */
  write(target: Target, assets: readonly NewAsset[], jobId?: string): Promise<WriteOutcome>;
  /**
   * What earlier runs of a job have sent, by any process: for each part the results by id, succeeded or pending. An asset
   * without a result was not sent, or has no effect; on a ledger whose writes may be repeated it may also be written
   * already.
   *
   * Rejects with LedgerUnavailableError if that cannot be asked: then nothing of the job may be sent, and nothing of it
   * may be reported as not written.
   */
  recall(jobId: string, parts: readonly JobPart[]): Promise<readonly ReadonlyMap<string, AssetResult>[]>;
  /** Settles a write whose outcome was unknown. */
  settle(target: Target, assets: readonly NewAsset[], transactionId: string): Promise<SettleOutcome>;
  /** Undefined: no such asset. Rejects with LedgerUnavailableError, UnreadableAnswerError, ContractRefusal. */
  read(target: Target, id: string): Promise<FoundAsset | undefined>;
  /**
   * The same with a proof by peers of the network. Absent on a ledger with a public log, which proves records itself.
   * Rejects with LedgerUnavailableError, UnreadableAnswerError, ContractRefusal.
   */
  prove?(target: Target, id: string, options: { readonly withBlock: boolean }): Promise<ProvedAsset | undefined>;
  /**
   * The changes of an asset, as the JSON text of a list, of a mapping with a history. Undefined: no such asset. Absent on
   * a ledger whose records do not change. Rejects with LedgerUnavailableError, UnreadableAnswerError, ContractRefusal.
   */
  history?(target: Target, id: string): Promise<string | undefined>;
  /** Rejects with LedgerUnavailableError, UnreadableAnswerError, ContractRefusal. */
  query(target: Target, query: PageQuery): Promise<FoundPage>;
}

/** The ledger as a caller uses it; without an identity it is the driver's own. */
export const signedBy = (ledger: AssetLedger, identity: string | undefined): AssetLedger =>
  identity === undefined ? ledger : ledger.as(identity);
