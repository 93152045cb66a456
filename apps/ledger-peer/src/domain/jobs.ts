import type { Claim } from '@sealgate/idempotency';
import { enumOf, named } from '@sealgate/schemas';
import { Type, type Static } from '@sinclair/typebox';
import { Summary, type AssetResult } from './asset-result.ts';

const JobStatus = enumOf('JobStatus', ['queued', 'running', 'done']);

/** A job, as its sender reads it. */
export const Job = named('Job', Type.Object({ id: Type.String(), status: JobStatus, result: Type.Optional(Summary) }));

/** The response to `respond-async`. */
export const AcceptedJob = named('AcceptedJob', Type.Object({ jobId: Type.String(), status: JobStatus }));

/** The response that a repeated request gets. */
export interface KeptAnswer {
  readonly jobId: string;
  readonly status: 200 | 202;
  readonly body: string;
  /** The request has `Prefer: respond-async`. */
  readonly isAsync: boolean;
}

/**
 * State of a claim.
 * - kept: it was answered; this is the response
 * - running: a request with the same or another body is in progress
 * - reused: it was made for another request, which was answered, or whose process is gone
 */
export type KnownClaim =
  { readonly kind: 'kept'; readonly answer: KeptAnswer } | { readonly kind: 'running' } | { readonly kind: 'reused' };

/** A job whose id was given to the sender. */
export interface PromisedJob {
  readonly jobId: string;
  readonly familyId: string;
  /** The name of the identity that signs; one that made the claim earlier stays. */
  readonly identity?: string | undefined;
  /** A `WriteOrder` without transient members, as JSON text. */
  readonly body: string;
  /** Those, as JSON text; stored sealed, and removed when the job is done. Undefined: none. */
  readonly transient?: string | undefined;
  /** Known results of the assets; empty if nothing was sent yet. */
  readonly results: readonly (AssetResult | undefined)[];
  /** The claim, if the request had an Idempotency-Key. */
  readonly answer: KeptAnswer;
}

/** A job held by this process. */
export interface TakenJob extends Pick<PromisedJob, 'jobId' | 'body' | 'results' | 'identity'> {
  /** Opens its transient members; absent: it has none. Throws SealedTextError. */
  readonly openTransient?: () => string;
}

/** A job with its result as JSON text, once it is done. */
export interface JobView extends Readonly<Omit<Static<typeof Job>, 'result'>> {
  readonly result: string | undefined;
}

/**
 * Requests that must be known later: those with an Idempotency-Key, and those with `respond-async`. Every call rejects
 * with AppError UNAVAILABLE if the store does not answer.
 */
export interface JobStore {
  /**
   * Takes the claim for this process, also one whose holder is gone; otherwise returns its state. `isNew`: this call made
   * the claim; otherwise something may have been sent under its job id, as its identity.
   */
  begin(job: {
    jobId: string;
    familyId: string;
    identity?: string | undefined;
    claim: Claim;
  }): Promise<{ kind: 'begun'; jobId: string; isNew: boolean; identity: string | undefined } | KnownClaim>;
  /** The state of a claim, without taking it. */
  look(claim: Claim): Promise<KnownClaim | undefined>;
  /** Stores the response of a claimed request; false if another process has taken the claim over. */
  keep(answer: KeptAnswer): Promise<boolean>;
  /** Removes a claim that this process made and under which nothing was sent. Never rejects. */
  forget(jobId: string): Promise<void>;
  /** Ends this process's hold of a claim, which stays: the same request takes it over at once. Never rejects. */
  leave(jobId: string): Promise<void>;
  /** Stores a job of which nothing was sent; some process will run it. */
  enqueue(job: PromisedJob): Promise<void>;
  /** The same for a job in progress with an unknown outcome. Never rejects: it is retried until it is stored. */
  follow(job: PromisedJob): Promise<void>;
  find(jobId: string, familyId: string): Promise<JobView | undefined>;
}

/** What running a job needs from the store. */
export interface RunningJobs {
  saveResults(jobId: string, results: readonly (AssetResult | undefined)[]): Promise<void>;
  finish(jobId: string, result: string): Promise<void>;
}
