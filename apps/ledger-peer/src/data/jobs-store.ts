import type { SecretBox } from '@sealgate/auth';
import { AppError } from '@sealgate/errors';
import type { WaitingItem } from '@sealgate/admin-api';
import { DatabaseUnavailableError, type Sql, type Statement } from '@sealgate/storage';
import type { AssetResult } from '../domain/asset-result.ts';
import type { JobStore, RunningJobs, TakenJob } from '../domain/jobs.ts';
import { jobClaims, type JobTable } from './job-claims.ts';
import { JobPromises, type JobPromisesOptions } from './job-promises.ts';
import { takeStatement } from './job-statements.ts';
import type { Leases } from './leases.ts';

interface JobsStoreOptions extends JobPromisesOptions {
  readonly sql: Sql;
  readonly leases: Leases;
  readonly box: SecretBox;
  readonly now: () => number;
}

/** Jobs in PostgreSQL, for requests and for the job worker. */
export interface JobsStore extends JobStore, JobQueue {
  /** Waits until every job is written, at most `withinMs`. */
  settle(withinMs: number): Promise<void>;
}

export function jobsStore(options: JobsStoreOptions): JobsStore {
  const table = jobTable(options);
  const promises = new JobPromises(table, options);
  return {
    ...jobClaims(table),
    ...jobQueue(table),
    enqueue: (job) => promises.enqueue(job),
    follow: (job) => promises.follow(job),
    find: (jobId, familyId) => promises.find(jobId, familyId),
    settle: (withinMs) => promises.settle(withinMs),
  };
}

/** The queue of jobs for the worker. */
interface JobQueue extends RunningJobs {
  /** Takes jobs without a holder, oldest first. */
  take(atMost: number): Promise<TakenJob[]>;
  /** Releases an unfinished job, and delays its next run. */
  release(jobId: string, forMs: number): Promise<void>;
}

interface TakenRow {
  readonly job_id: string;
  readonly body: string;
  readonly results: string | null;
  readonly sealed: string | null;
  readonly identity: string | null;
}

function jobQueue({ ask, leases, now, box }: JobTable): JobQueue {
  return {
    async take(atMost) {
      const rows = await ask<TakenRow>(takeStatement(atMost, leases));
      for (const { job_id: jobId } of rows) leases.hold(jobId);
      return rows.map(({ job_id: jobId, body, results, sealed, identity }) => ({
        ...{ jobId, body, results: resultsOf(results), identity: identity ?? undefined },
        ...(sealed === null ? {} : { openTransient: () => box.open(sealed, jobId) }),
      }));
    },
    async release(jobId, forMs) {
      leases.drop(jobId);
      const text = `UPDATE peer.jobs
                       SET lease_owner = NULL, lease_until = NULL, not_before = now() + $3 * interval '1 ms'
                     WHERE job_id = $1 AND lease_owner = $2`;
      await ask({ text, values: [jobId, leases.owner, forMs] });
    },
    async saveResults(jobId, results) {
      const text = 'UPDATE peer.jobs SET results = $3 WHERE job_id = $1 AND lease_owner = $2';
      await ask({ text, values: [jobId, leases.owner, JSON.stringify(results)] });
    },
    async finish(jobId, result) {
      const text = `UPDATE peer.jobs SET status = 'done', result = $3, results = NULL, body = NULL, sealed = NULL,
                           lease_owner = NULL,
                           done_at = to_timestamp($4 / 1000.0)
                     WHERE job_id = $1 AND lease_owner = $2`;
      await ask({ text, values: [jobId, leases.owner, result, now()] });
      leases.drop(jobId);
    },
  };
}

/** Results as `saveResults` wrote them: JSON has no undefined. */
function resultsOf(text: string | null): (AssetResult | undefined)[] {
  if (text === null) return [];
  const results = JSON.parse(text) as (AssetResult | null)[]; // Written by `saveResults` only.
  return results.map((result) => result ?? undefined);
}

/** Unfinished jobs whose id was given to the sender, of all processes. */
export async function waitingJobs(sql: Sql): Promise<WaitingItem> {
  const [row] = await sql.query<{ count: string; oldest: Date | null }>({
    text: `SELECT count(*) AS count, min(created_at) AS oldest FROM peer.jobs WHERE promised AND status <> 'done'`,
  });
  return {
    what: 'jobs',
    description: 'Unfinished jobs',
    count: Number(row?.count ?? 0),
    oldestAt: row?.oldest ?? undefined,
  };
}

function jobTable({ sql, leases, box, now }: JobsStoreOptions): JobTable {
  return {
    leases,
    box,
    now,
    async ask<Row extends object>(statement: Statement) {
      try {
        return await sql.query<Row>(statement);
      } catch (error) {
        if (!(error instanceof DatabaseUnavailableError)) throw error;
        const options = { retryAfterSeconds: 1, cause: error };
        throw new AppError('UNAVAILABLE', 'The job store cannot be reached.', options);
      }
    },
  };
}
