import type { Surface } from '@sealgate/audit';
import type { BodyTurns } from '@sealgate/http';
import type { Log, Metrics } from '@sealgate/observability';
import type { Own } from '@sealgate/service-host';
import { jobRemovals } from './data/job-retention.ts';
import { jobWorker } from './data/job-worker.ts';
import { jobsStore, type JobsStore } from './data/jobs-store.ts';
import { leases as openLeases } from './data/leases.ts';
import { runJob, type RunJobPorts } from './domain/run-job.ts';
import { jobMetrics } from './peer-metrics.ts';

export interface OpenJobsOptions extends Pick<Surface, 'sql' | 'retain'> {
  /** Names this process among all that ever ran. */
  readonly owner: string;
  readonly config: { readonly jobsAtOnce: number; readonly jobsMaxWaiting: number };
  /** What a job needs besides its store. */
  readonly running: Omit<RunJobPorts, 'jobs'>;
  /** Of the bodies of jobs. */
  readonly turns: BodyTurns;
  readonly now: () => number;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly own: Own;
}

/** How long a process may be silent before another one takes over what it had in hand. */
const LEASE_MS = 4000;
const LOOK_EVERY_MS = 1000;
const SETTLE_WITHIN_MS = 4000;

/** The store of jobs and what runs them in this process, begun. */
export function openJobs({
  sql,
  retain,
  owner,
  config,
  running,
  turns,
  now,
  log,
  metrics,
  own,
}: OpenJobsOptions): JobsStore {
  const leases = openLeases({
    sql,
    owner,
    lengthMs: LEASE_MS,
    onError: (error) => log.warn('leases_not_renewed', { reason: String(error) }),
  });
  own('leases', () => leases.close());
  const jobs = jobsStore({
    sql,
    leases,
    now,
    maxWaiting: config.jobsMaxWaiting,
    onPromise: () => worker.kick(),
    onDelay: (error) => log.warn('job_not_written_yet', { reason: String(error) }),
  });
  own('jobs', () => jobs.settle(SETTLE_WITHIN_MS));
  const worker = jobWorker({
    jobs,
    leases,
    async run(job, mayGoOn) {
      // A job whose turn does not come is left for later, as in an outage.
      const endTurn = await turns.take(job.body.length);
      try {
        return await runJob({ ...running, jobs }, job, mayGoOn);
      } finally {
        endTurn();
      }
    },
    atOnce: config.jobsAtOnce,
    everyMs: LOOK_EVERY_MS,
    onError: (error) => log.warn('job_left_undone', { reason: String(error) }),
  });
  worker.start();
  own('job worker', () => worker.stop());
  jobMetrics(metrics, worker);
  retain(jobRemovals(sql, now));
  return jobs;
}
