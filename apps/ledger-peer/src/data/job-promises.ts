import { AppError } from '@sealgate/errors';
import { DatabaseUnavailableError } from '@sealgate/storage';
import type { JobStore, JobView, PromisedJob } from '../domain/jobs.ts';
import { KEEP_RESULTS_MS, promiseStatement } from './job-statements.ts';
import type { JobTable } from './job-claims.ts';

export interface JobPromisesOptions {
  /** Maximum queued jobs; more are rejected. */
  readonly maxWaiting: number;
  /** Called when a job is available. */
  readonly onPromise: () => void;
  /** Receives the reason why a job could not be written yet. */
  readonly onDelay: (error: unknown) => void;
}

const RETRY_EVERY_MS = 200;

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Jobs whose id was given to the sender. */
export class JobPromises implements Pick<JobStore, 'enqueue' | 'follow' | 'find'> {
  readonly #table: JobTable;
  readonly #options: JobPromisesOptions;
  /** Jobs not written yet, because the database is unavailable. */
  readonly #unwritten = new Map<string, { readonly job: PromisedJob; readonly written: Promise<void> }>();

  constructor(table: JobTable, options: JobPromisesOptions) {
    this.#table = table;
    this.#options = options;
  }

  async enqueue(job: PromisedJob): Promise<void> {
    const { maxWaiting } = this.#options;
    const text = `SELECT count(*) AS waiting
                    FROM (SELECT FROM peer.jobs WHERE promised AND status <> 'done' LIMIT $1) w`;
    const [row] = await this.#table.ask<{ waiting: string }>({ text, values: [maxWaiting] });
    if (Number(row?.waiting) >= maxWaiting) {
      throw new AppError('OVERLOADED', 'Too many jobs are waiting already.', { retryAfterSeconds: 5 });
    }
    try {
      await this.#write(job, 'queued');
    } catch (error) {
      // The row may exist, and then it is run: a possible write is made certain, not rejected.
      if (!mayBeWritten(error)) throw error;
      await this.follow(job);
    }
  }

  async follow(job: PromisedJob): Promise<void> {
    const written = this.#insist(job).finally(() => this.#unwritten.delete(job.jobId));
    this.#unwritten.set(job.jobId, { job, written });
    // If the database answers, it has the row before the sender gets the id.
    await Promise.race([written, pause(RETRY_EVERY_MS)]);
  }

  async find(jobId: string, familyId: string): Promise<JobView | undefined> {
    const waiting = this.#unwritten.get(jobId)?.job;
    if (waiting !== undefined) {
      return waiting.familyId === familyId ? { id: jobId, status: 'running', result: undefined } : undefined;
    }
    const { ask, now } = this.#table;
    const [row] = await ask<{ status: JobView['status']; result: string | null }>({
      name: 'peer job',
      text: `SELECT status, result FROM peer.jobs
              WHERE job_id = $1 AND family_id = $2 AND promised
                AND coalesce(done_at > to_timestamp($3 / 1000.0), true)`,
      values: [jobId, familyId, now() - KEEP_RESULTS_MS],
    });
    return row === undefined ? undefined : { id: jobId, status: row.status, result: row.result ?? undefined };
  }

  /** Waits until every job is written, at most `withinMs`. */
  async settle(withinMs: number): Promise<void> {
    const all = Promise.all([...this.#unwritten.values()].map(({ written }) => written));
    await Promise.race([all, pause(withinMs)]);
  }

  async #write(job: PromisedJob, status: 'queued' | 'running'): Promise<void> {
    const { ask, leases, now, box } = this.#table;
    const sealed = job.transient === undefined ? null : box.seal(job.transient, job.jobId);
    await ask(promiseStatement(job, { status, sealed, nowMs: now() }));
    leases.drop(job.jobId);
    this.#options.onPromise();
  }

  async #insist(job: PromisedJob): Promise<void> {
    for (;;) {
      try {
        return await this.#write(job, 'running');
      } catch (error) {
        this.#options.onDelay(error);
        await pause(RETRY_EVERY_MS);
      }
    }
  }
}

/** Was sent to the database without an answer. */
function mayBeWritten(error: unknown): boolean {
  return error instanceof AppError && error.cause instanceof DatabaseUnavailableError && error.cause.sent;
}
