/**
 * The client of transactions without HTTP. `sdk`: Fabric's own client with its own signer; `native`: the same with
 * node:crypto, as the ledger peer signs; `driver`: the ledger peer's driver, with its journal.
 */
export type DirectKind = 'sdk' | 'native' | 'driver';

/** One round of a client without HTTP. */
export interface DirectPlan {
  readonly connectionFile: string;
  readonly fabricChannel: string;
  readonly kind: DirectKind;
  /** Owner's URL of the database for the driver's journal. */
  readonly databaseUrl: string;
  readonly inFlight: number;
  /** This many transactions, or as many as can be begun in `sendForMs`; all are measured, to the last commit. */
  readonly requests: number;
  readonly sendForMs: number;
  /** The argument of `createMany`; `{key}` in it is replaced by a unique name. */
  readonly arguments: string;
  readonly keyPrefix: string;
}

export interface DirectResult {
  readonly measuredMs: number;
  /** Committed transactions, from which rates are computed. */
  readonly measured: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** User and system time of the process in the measured time. */
  readonly cpuMs: number;
  readonly succeeded: number;
  readonly refused: number;
  readonly firstProblem: string | null;
}

export type DirectAnswer = { readonly result: DirectResult } | { readonly problem: string };
