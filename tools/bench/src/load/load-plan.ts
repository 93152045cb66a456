import type { WatchedProcess } from '../proc-usage.ts';

/** One round of load: every connection has one request in flight, all requests are the same but for their key. */
export interface LoadPlan {
  readonly port: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** `{key}` in it stands for the request's key. */
  readonly body: string;
  /** Instead of `path` and `body`: each connection sends these in a random order of its own, and no Idempotency-Key. */
  readonly requests?: readonly PlannedRequest[];
  /** Instead of `body`: connection n sends the n-th of them, in turn. */
  readonly bodies?: readonly string[];
  /** With `bodies`: the connections send all of them in turn, beginning with this one, so that none comes again soon. */
  readonly firstBody?: number;
  /** A text that every answer must hold; one that does not is counted in `unlike`, and not as succeeded. */
  readonly mustSay?: string;
  /**
   * Requests are due at this rate, whatever the answers do, and latency counts from the moment a request was due. Needs
   * `until.requests`. Absent: each connection sends its next request once the last is answered.
   */
  readonly perSecond?: number;
  /** What each Idempotency-Key begins with; the generator adds the connection and a number. New for each round. */
  readonly keyPrefix: string;
  /** False: no Idempotency-Key is sent. */
  readonly sendsKey?: boolean;
  /** So many connections after one another send the same keys in the same order, each of them once; 1 unless said otherwise. */
  readonly connectionsPerKey?: number;
  readonly connections: number;
  /** Instead of `port`, `path` and `headers`: connection n sends to the n-th of them, in turn. */
  readonly destinations?: readonly Destination[];
  /**
   * Ends after this time, and what is in flight then is waited for and not measured; or after that many requests, or as many
   * as can be sent in `sendForMs`, and then all of them are measured, to the last answer.
   */
  readonly until:
    { readonly durationMs: number } | { readonly requests: number; readonly sendForMs?: number | undefined };
  readonly watch: readonly WatchedProcess[];
}

export type Destination = Pick<LoadPlan, 'port' | 'path' | 'headers'>;

export interface PlannedRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: string;
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
  /** Answers, of any status, that did not hold what they must. */
  readonly unlike: number;
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
