/** One round of the direct client. */
export interface DirectPlan {
  readonly connectionFile: string;
  readonly fabricChannel: string;
  /** `sdk`: the signer that the client comes with; `native`: node:crypto, as the ledger peer signs. */
  readonly signing: 'sdk' | 'native';
  readonly inFlight: number;
  readonly durationMs: number;
  /** Of `createMany`; `{key}` in it stands for a name that is never used twice. */
  readonly arguments: string;
  readonly keyPrefix: string;
}

export interface DirectResult {
  readonly measuredMs: number;
  /** Committed in the measured time: what rates are made of. */
  readonly measured: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** User and system time of the process in the measured time. */
  readonly cpuMs: number;
  /** All that committed, those after the measured time included. */
  readonly succeeded: number;
  readonly refused: number;
  readonly firstProblem: string | null;
}

export type DirectAnswer = { readonly result: DirectResult } | { readonly problem: string };
