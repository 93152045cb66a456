import type { AssetResult } from './asset-result.ts';

/** What makes a repeated request known; see `@sealgate/idempotency`. */
export interface RequestClaim {
  readonly claim: Buffer;
  readonly fingerprint: string;
  readonly acceptable: readonly string[];
}

/** An answer that a repeated request gets again. */
export interface KeptAnswer {
  readonly jobId: string;
  readonly status: 200 | 202;
  readonly body: string;
  /** The sender preferred not to wait. */
  readonly isAsync: boolean;
}

/**
 * What is known of a claim.
 * - kept: it was answered; this is the answer
 * - running: somebody answers it right now, or a request with another body
 * - reused: it was made for another request, which was answered, or whose process is gone
 */
export type KnownClaim =
  { readonly kind: 'kept'; readonly answer: KeptAnswer } | { readonly kind: 'running' } | { readonly kind: 'reused' };

/** A job that somebody was told to ask for. */
export interface PromisedJob {
  readonly jobId: string;
  readonly familyId: string;
  /** The body of the request: `{assets, options}` as JSON text. */
  readonly body: string;
  /** What is known of each asset already; empty where nothing was sent yet. */
  readonly results: readonly (AssetResult | undefined)[];
  /** Kept with it where the request had an Idempotency-Key. */
  readonly answer: KeptAnswer;
}

/** A job in the hands of this process. */
export type TakenJob = Pick<PromisedJob, 'jobId' | 'body' | 'results'>;

export interface JobView {
  readonly jobId: string;
  readonly status: 'queued' | 'running' | 'done';
  /** JSON text, once it is done. */
  readonly result: string | undefined;
}

/**
 * Requests that must be known later: those with an Idempotency-Key, and those whose sender does not wait for the end. Every
 * call rejects with AppError UNAVAILABLE where the store gives no answer.
 */
export interface JobStore {
  /** Takes the claim for this process, also one whose holder is gone; else says what is known of it. */
  begin(job: {
    jobId: string;
    familyId: string;
    claim: RequestClaim;
  }): Promise<{ kind: 'begun'; jobId: string } | KnownClaim>;
  /** What is known of a claim, without taking it. */
  look(claim: RequestClaim): Promise<KnownClaim | undefined>;
  /** Keeps the answer of a request that was begun; false where another process has taken it over meanwhile. */
  keep(answer: KeptAnswer): Promise<boolean>;
  /** Lets go of a request that was begun and got no answer worth keeping. Never rejects. */
  forget(jobId: string): Promise<void>;
  /** Writes down a job that nothing was sent of; from now on some process will run it. */
  enqueue(job: PromisedJob): Promise<void>;
  /** Likewise one that is under way already, whose outcome is not known. Never rejects: it is tried until it is written. */
  follow(job: PromisedJob): Promise<void>;
  find(jobId: string, familyId: string): Promise<JobView | undefined>;
}

/** What is asked of the store by whoever runs jobs. */
export interface RunningJobs {
  saveResults(jobId: string, results: readonly (AssetResult | undefined)[]): Promise<void>;
  finish(jobId: string, result: string): Promise<void>;
}
