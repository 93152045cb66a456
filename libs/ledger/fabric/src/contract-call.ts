import type { NewClaim } from './journal-entry.ts';

/** One call of a chaincode. `channel` and `chaincode` are Fabric's own names. */
export interface ContractCall {
  readonly channel: string;
  readonly chaincode: string;
  /** The contract within the chaincode; absent: the chaincode's default. */
  readonly contract?: string;
  readonly transaction: string;
  readonly args: readonly (string | Uint8Array)[];
  /** Given to the endorsers and kept out of the ledger. */
  readonly transient?: Readonly<Record<string, string | Uint8Array>>;
  /** MSP ids that must endorse; absent: the gateway peer finds out by the endorsement policy. */
  readonly endorsingOrganizations?: readonly string[];
}

export interface SubmitOptions {
  /**
   * Ends the caller's wait. Before the envelope is journalled: UnavailableError, nothing ordered; after it:
   * UnknownOutcomeError, and the settling goes on.
   */
  readonly signal?: AbortSignal;
  /** The caller's own name for this piece of work, at most 200 characters; see `FabricClient.find`. */
  readonly reference?: string;
  /** The caller's own words, at most 64 KiB: given to `onSettlement`, also by a process that takes over. */
  readonly note?: string;
  /**
   * Made from what was endorsed, and taken in the statement that journals the transaction. Where another transaction
   * holds it, `submit` rejects with ClaimTakenError, and nothing was written.
   */
  readonly claim?: (endorsed: { readonly transactionId: string; readonly result: Buffer }) => NewClaim;
  /** Milliseconds for everything; default `answer` of the connection's deadlines. */
  readonly answerWithinMs?: number;
}

/** A transaction that is in a block and valid. */
export interface Committed {
  /** 64 lower hex digits. */
  readonly transactionId: string;
  readonly blockNumber: number;
  /** What the transaction function returned when it was endorsed. */
  readonly result: Buffer;
}

/**
 * What is known of a transaction.
 * - committed: in a block and valid
 * - invalid: in a block and without effect; `code` is Fabric's validation code (`MVCC_READ_CONFLICT`, ...)
 * - refused: the orderer said no before it was ordered; nothing was written
 * - unknown: it may yet be committed; the client goes on settling it
 */
export type Settlement =
  | ({ readonly status: 'committed' } & Committed)
  | { readonly status: 'invalid'; readonly transactionId: string; readonly code: string; readonly blockNumber: number }
  | { readonly status: 'refused'; readonly transactionId: string; readonly message: string }
  | { readonly status: 'unknown'; readonly transactionId: string };
