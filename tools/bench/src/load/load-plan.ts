import type { WatchedProcess } from '../proc-usage.ts';

/** One round of load: every connection has one request in flight, all requests are the same but for their key. */
export interface LoadPlan {
  readonly port: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** `{key}` in it stands for the request's key. */
  readonly body: string;
  /** What each Idempotency-Key begins with; the generator adds the connection and a number. New for each round. */
  readonly keyPrefix: string;
  /** False: no Idempotency-Key is sent. */
  readonly sendsKey?: boolean;
  readonly connections: number;
  /** Ends after this time, or after that many requests. What is in flight then is waited for. */
  readonly until: { readonly durationMs: number } | { readonly requests: number };
  readonly watch: readonly WatchedProcess[];
}

export interface Usage {
  /** Of the measured time; null where the system does not tell. */
  readonly cpuMs: number | null;
  /** The most that was seen while the load ran. */
  readonly rssBytes: number | null;
}

export interface LoadResult {
  /** How long was measured. */
  readonly measuredMs: number;
  /** Answers with 200 in the measured time: what rates are made of. */
  readonly measured: number;
  /** All answers with 200, those after the end of the measured time included: what the ledger must hold. */
  readonly succeeded: number;
  /** Other answers, by status. */
  readonly refused: Readonly<Record<string, number>>;
  /** Requests that had no whole answer: cut connections, and what was still open after the drain. */
  readonly unanswered: number;
  /** What was wrong with the first of them; null where none was, or it was late. */
  readonly firstProblem: string | null;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly largestMs: number;
  readonly usage: Readonly<Record<string, Usage>>;
  /** What the generator itself cost in the measured time. */
  readonly generatorCpuMs: number;
  /** CPU time that went to neither of them: what else this machine did meanwhile; null where the system does not tell. */
  readonly otherCpuMs: number | null;
}
