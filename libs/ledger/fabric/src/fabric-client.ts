import type { ContractHealth, LedgerHealth } from '@sealgate/ledger-port';
import type { Committed, ContractCall, Settlement, SubmitOptions } from './contract-call.ts';
import type { CredentialsState } from './credentials.ts';
import type { FabricReason } from './fabric-reasons.ts';
import type { FabricState } from './fabric-observer.ts';

/** Whether the contracts answer. Not asked: whether writes find enough endorsers, and an orderer. */
export interface FabricHealth extends LedgerHealth {
  readonly contracts: readonly (ContractHealth & { readonly reason: FabricReason | null })[];
}

/** A gateway of a Fabric network, for any chaincode. No call hangs: each ends within the deadlines of the connection. */
export interface FabricClient {
  /**
   * Writes: endorse, journal, submit, wait for the block. Resolves once the transaction is in a block and valid.
   *
   * @throws ContractRefusedError, UnavailableError, OverloadedError, MisconfiguredError, InvalidatedError: nothing was
   * written.
   * @throws UnknownOutcomeError: it may have been; the same bytes go on being sent until it is known.
   */
  submit(call: ContractCall, options?: SubmitOptions): Promise<Committed>;
  /** Asks. @throws ContractRefusedError, UnavailableError, OverloadedError, MisconfiguredError. */
  evaluate(call: ContractCall, options?: { readonly signal?: AbortSignal }): Promise<Buffer>;
  /**
   * What became of a transaction of this journal. Waits for an unknown one for `waitMs` (default 0) at most.
   * Undefined: the journal does not know it (settled longer ago than it keeps, or never journalled).
   *
   * @throws UnavailableError when the journal cannot be asked.
   */
  settle(transactionId: string, options?: { readonly waitMs?: number }): Promise<Settlement | undefined>;
  /**
   * The transactions that were sent under a reference, oldest first: what a process that takes over another's work asks
   * before it sends anything again.
   *
   * @throws UnavailableError when the journal cannot be asked.
   */
  find(reference: string): Promise<readonly Settlement[]>;
  /** Whether the files of the identity are there, readable, matching and unexpired. Touches no network. */
  credentials(): CredentialsState;
  /**
   * Makes these calls, which must be of functions that write nothing, one for each contract, all within a second. An answer
   * is what counts, be it a refusal.
   */
  health(calls: readonly ContractCall[]): Promise<FabricHealth>;
  state(): FabricState;
  /** Waits for what is under way, at most `deadlineMs` (default 5 s); what is not settled then is settled after the next start. */
  close(deadlineMs?: number): Promise<void>;
}
