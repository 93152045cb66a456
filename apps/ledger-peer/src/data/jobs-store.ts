import type { Sql } from '@sealgate/storage';
import type { JobStore } from '../domain/jobs.ts';
import { jobClaims } from './job-claims.ts';
import { JobPromises, type JobPromisesOptions } from './job-promises.ts';
import { jobTable } from './job-table.ts';
import type { Leases } from './leases.ts';
import { jobQueue, type JobQueue } from './running-jobs.ts';

export interface JobsStoreOptions extends JobPromisesOptions {
  readonly sql: Sql;
  readonly leases: Leases;
  readonly now: () => number;
}

/** Jobs in PostgreSQL, for whoever answers requests and for whoever runs jobs. */
export interface JobsStore extends JobStore, JobQueue {
  /** Waits until every promise is written, at most so long. */
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
