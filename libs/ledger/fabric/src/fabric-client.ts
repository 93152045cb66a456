import type { ContractHealth, LedgerHealth } from '@sealgate/ledger-port';
import type { Attestation } from './attestation.ts';
import type { ChannelBlock } from './block-content.ts';
import type { FabricState } from './fabric-observer.ts';
import type { FabricReason } from './fabric-reasons.ts';
import type { ContractRefusedError } from './fabric-errors.ts';
import type { CredentialsState } from './identity-files.ts';
import type { WholeBlock } from './whole-block.ts';
import type { NewClaim } from './journal-statements.ts';

/** A call of a chaincode. `channel` and `chaincode` are Fabric's own names. */
export interface ContractCall {
  readonly channel: string;
  readonly chaincode: string;
  /** The contract within the chaincode; absent: the chaincode's default. */
  readonly contract?: string;
  readonly transaction: string;
  readonly args: readonly (string | Uint8Array)[];
  /** By name: for the endorsing peers only, never in the transaction. */
  readonly transient?: Readonly<Record<string, string>>;
  /**
   * MSP ids: each endorses a submit, one evaluates. Absent: the gateway peer chooses; for private data, of transient
   * members too, peers of the caller's own organisation.
   */
  readonly organizations?: readonly string[];
  /**
   * The name of the identity that signs. Absent: the default of the connection; without a default nothing is submitted,
   * and evaluations are signed as the first identity. One that the connection does not have ends as UnavailableError:
   * nothing is sent.
   */
  readonly identity?: string | undefined;
  /** Whether it reads what only some organisations have. */
  readonly isPrivate?: boolean;
}

export interface SubmitOptions {
  /**
   * Ends the caller's wait. Before the envelope is journalled: UnavailableError, nothing ordered; afterwards:
   * UnknownOutcomeError, and settling continues.
   */
  readonly signal?: AbortSignal;
  /**
   * The caller's name for this work, `<group>:<rest>`, at most 200 characters: one transaction at most is committed
   * under it. While another one is, or may be, `submit` rejects with ClaimTakenError, and nothing was written. See
   * `FabricClient.findGroup`. Not together with `claim`.
   */
  readonly reference?: string;
  /** The caller's note, at most 64 KiB: passed to `onSettlement`, also by a process that takes over. */
  readonly note?: string;
  /**
   * Derives the claim from the endorsement; it is taken in the statement that journals the transaction. If another
   * transaction holds it, `submit` rejects with ClaimTakenError, and nothing was written.
   */
  readonly claim?: (endorsed: { readonly transactionId: string; readonly result: Buffer }) => NewClaim;
  /** Deadline for everything; default `answer` of the connection's deadlines. */
  readonly answerWithinMs?: number;
}

export interface EvaluateOptions {
  readonly signal?: AbortSignal;
  /**
   * Whether an answer, or the contract's own refusal, could be another one with newer blocks: "there is no such asset",
   * or a list. It only counts from a peer that has committed every block with an acknowledged write; others are asked in
   * turn, and UnavailableError is thrown if there is none.
   */
  readonly mayBeOutdated?: (answer: Buffer | ContractRefusedError) => boolean;
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
 * State of a transaction.
 * - committed: in a block and valid
 * - invalid: in a block and without effect; `code` is Fabric's validation code (`MVCC_READ_CONFLICT`, ...)
 * - refused: the orderer rejected it before ordering; nothing was written
 * - unknown: it may still be committed; the client keeps settling it
 */
export type Settlement =
  | ({ readonly status: 'committed' } & Committed)
  | { readonly status: 'invalid'; readonly transactionId: string; readonly code: string; readonly blockNumber: number }
  | { readonly status: 'refused'; readonly transactionId: string; readonly message: string }
  | { readonly status: 'unknown'; readonly transactionId: string };

/** A transaction of a group, with the note that it was sent with. */
export interface SentTransaction {
  readonly settlement: Settlement;
  readonly note: string | undefined;
}

/** Whether the contracts answer. Not checked: whether writes reach enough endorsers and an orderer. */
export interface FabricHealth extends LedgerHealth {
  readonly contracts: readonly (ContractHealth & { readonly reason: FabricReason | null })[];
}

/** Whole blocks of a channel, for any number of readers. */
export interface BlockReader {
  /** The newest block that any peer is known to have; it is kept up to date while somebody follows. */
  readonly newest: number | undefined;
  /** Asks the peers now. @throws UnavailableError if none answers within two seconds. */
  askNewest(): Promise<number>;
  /**
   * The first block that a peer has which answers now: of peers that began from a snapshot it is not 0.
   * @throws UnavailableError if none answers within two seconds.
   */
  askFirst(): Promise<number>;
  /** Opens the stream of new blocks, shared by all who follow, until the last one calls the returned function. */
  follow(): () => void;
  /** Resolves once a peer is known to have this block, or the signal is aborted. Only of use while somebody follows. */
  reached(block: number, signal: AbortSignal): Promise<void>;
  /**
   * Some blocks from this one on, in order without a gap: at least one if a peer is known to have it. Ends within
   * seconds. @throws UnavailableError if no peer sends it.
   */
  read(from: number, signal: AbortSignal): Promise<readonly ChannelBlock[]>;
  /** The same with all that a block says, up to a block that a peer has. @throws UnavailableError if no peer sends it. */
  readWhole(from: number, upTo: number, signal: AbortSignal): Promise<readonly WholeBlock[]>;
}

/**
 * A gateway of a Fabric network, for any chaincode. No call hangs: each ends within the deadlines of the connection.
 */
export interface FabricClient {
  /**
   * Writes: endorse, journal, submit, wait for the block. Resolves once the transaction is in a block and valid.
   *
   * @throws ContractRefusedError, UnavailableError, OverloadedError, MisconfiguredError, InvalidatedError,
   * ClaimTakenError: nothing was written.
   * @throws UnknownOutcomeError: it may have been written; the same bytes are resent until the outcome is known.
   */
  submit(call: ContractCall, options?: SubmitOptions): Promise<Committed>;
  /** Queries. @throws ContractRefusedError, UnavailableError, OverloadedError, MisconfiguredError. */
  evaluate(call: ContractCall, options?: EvaluateOptions): Promise<Buffer>;
  /**
   * A query, signed by a peer of each of the call's organisations (absent: of those that discovery chooses by the
   * policy of the chaincode). It is endorsed and never submitted. The peers must agree on the answer.
   *
   * @throws as `evaluate`; UnavailableError also while too few peers answer, or they disagree.
   */
  attest(call: ContractCall, options?: EvaluateOptions): Promise<Attestation>;
  /**
   * The state of a transaction of this journal. Waits at most `waitMs` (default 0) for an unknown one. Undefined: not
   * in the journal (settled longer ago than its retention, or not journalled yet: see `withdraw`).
   *
   * @throws UnavailableError if the journal cannot be queried.
   */
  settle(transactionId: string, options?: { readonly waitMs?: number }): Promise<Settlement | undefined>;
  /**
   * The transactions under references that begin with `<group>:`, except those known to have no effect: a process that
   * takes over another's work checks them before it sends anything again.
   *
   * @throws UnavailableError if the journal cannot be queried: then it is not known what was sent.
   */
  findGroup(group: string): Promise<readonly SentTransaction[]>;
  /**
   * Makes certain that a transaction that is not in the journal is never sent, by any process. False: it is in the
   * journal.
   *
   * @throws UnavailableError if the journal does not answer.
   */
  withdraw(transactionId: string, channel: string): Promise<boolean>;
  /**
   * Whether the identity files exist, are readable, match and are unexpired: in order as long as one identity can sign.
   * Uses no network.
   */
  credentials(): CredentialsState;
  /**
   * Makes these read-only calls, one per contract, within a second. Any answer counts as healthy, even a refusal, unless
   * every peer is behind a block with an acknowledged write.
   */
  health(calls: readonly ContractCall[]): Promise<FabricHealth>;
  state(): FabricState;
  /** The blocks of a channel, by Fabric's name. */
  blocks(channel: string): BlockReader;
  /**
   * Waits for running work, at most `deadlineMs` (default 5 s); what is unsettled then is settled after the next start.
   */
  close(deadlineMs?: number): Promise<void>;
}
