/**
 * What makes transactions without HTTP. `sdk`: Fabric's own client with the signer that it comes with; `native`: the same
 * with node:crypto, as the ledger peer signs; `driver`: the ledger peer's driver, with its journal.
 */
export type DirectKind = 'sdk' | 'native' | 'driver';

/** One round of a client without HTTP. */
export interface DirectPlan {
  readonly connectionFile: string;
  readonly fabricChannel: string;
  readonly kind: DirectKind;
  /** For the journal of the driver, as the owner of the database. */
  readonly databaseUrl: string;
  readonly inFlight: number;
  /** So many transactions, or as many as can be begun in `sendForMs`; all of them are measured, to the last commit. */
  readonly requests: number;
  readonly sendForMs: number;
  /** Of `createMany`; `{key}` in it stands for a name that is never used twice. */
  readonly arguments: string;
  readonly keyPrefix: string;
}

export interface DirectResult {
  readonly measuredMs: number;
  /** Committed: what rates are made of. */
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
