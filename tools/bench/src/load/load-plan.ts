import type { Usage, WatchedProcess } from '../proc-usage.ts';

/** One round of load: every connection has one request in flight. */
export interface LoadPlan {
  /** Connection n sends to the n-th of them, in turn. */
  readonly destinations: readonly Destination[];
  /** Of every request; `{key}` in it, and in a header, is replaced by the request's key. */
  readonly body?: string;
  /** Instead of `body`: each connection sends these in its own random order, without Idempotency-Key. */
  readonly requests?: readonly PlannedRequest[];
  /** With `requests`: the connections send all of them in turn, starting with this one, so that none repeats soon. */
  readonly firstRequest?: number;
  /** The status of an answer that counts; default 200. */
  readonly expects?: readonly number[];
  /** A text that every answer must contain; answers without it count as `unlike`, not as succeeded. */
  readonly mustSay?: string;
  /**
   * Requests are due at this rate, independent of the answers, and latency counts from the due time. Needs
   * `until.requests`. Absent: each connection sends its next request once the last is answered.
   */
  readonly perSecond?: number;
  /** The prefix of each Idempotency-Key; the generator adds the connection and a number. New for each round. */
  readonly keyPrefix: string;
  /** False: no Idempotency-Key is sent. */
  readonly sendsKey?: boolean;
  /** This many consecutive connections send the same keys in the same order, each of them once; default 1. */
  readonly connectionsPerKey?: number;
  readonly connections: number;
  /**
   * Ends after this time; requests in flight then are awaited and not measured. Or ends after this number of requests,
   * or as many as can be sent in `sendForMs`; then all of them are measured, to the last answer.
   */
  readonly until:
    { readonly durationMs: number } | { readonly requests: number; readonly sendForMs?: number | undefined };
  readonly watch: readonly WatchedProcess[];
}

export interface Destination {
  readonly port: number;
  /** Ports of further servers that take the same requests: a connection that is closed in order goes on there. */
  readonly alsoAt?: readonly number[];
  /** Not of `requests`, which have their own. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface PlannedRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: string | Uint8Array;
}

export interface LoadResult extends Usage {
  /** Length of the measured time. */
  readonly measuredMs: number;
  /** Expected answers in the measured time, from which rates are computed. */
  readonly measured: number;
  /** All expected answers, including those after the measured time: what the ledger must contain. */
  readonly succeeded: number;
  /** Other answers, by status. */
  readonly refused: Readonly<Record<string, number>>;
  /** Answers with an expected status without the required text. */
  readonly unlike: number;
  /** Requests without a complete answer: cut connections, and requests still open after the drain. */
  readonly unanswered: number;
  /** The fault of the first of them; null where there was none, or it was late. */
  readonly firstProblem: string | null;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly largestMs: number;
}
