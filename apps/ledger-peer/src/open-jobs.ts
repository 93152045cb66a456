import type { Surface } from '@sealgate/audit';
import type { SecretBox } from '@sealgate/auth';
import type { BodyTurns } from '@sealgate/http';
import type { Log, Metrics } from '@sealgate/observability';
import type { Own } from '@sealgate/service-host';
import { jobRemovals } from './data/job-statements.ts';
import { jobWorker } from './data/job-worker.ts';
import { jobsStore, type JobsStore } from './data/jobs-store.ts';
import { leases as openLeases } from './data/leases.ts';
import { runJob, type RunJobPorts } from './domain/run-job.ts';
import { jobMetrics } from './peer-metrics.ts';

interface OpenJobsOptions extends Pick<Surface, 'sql' | 'background' | 'retain'> {
  /** Seals the transient members of jobs. */
  readonly box: SecretBox;
  /** Unique among all processes, past and present. */
  readonly owner: string;
  /** What running a job needs besides its store. */
  readonly running: Omit<RunJobPorts, 'jobs'>;
  /** Limits the job bodies in memory. */
  readonly turns: BodyTurns;
  readonly now: () => number;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly own: Own;
}

/** Lease: how long a process may be silent before another one takes over its jobs. */
const LEASE_MS = 4000;
const LOOK_EVERY_MS = 1000;
const SETTLE_WITHIN_MS = 4000;
/** Concurrent jobs of this process. */
const JOBS_AT_ONCE = 4;
/** Queued jobs of all processes; more are rejected as overload. */
const MOST_WAITING = 10_000;

/** Opens the job store and starts the worker of this process. */
export function openJobs({ sql, background, ...options }: OpenJobsOptions): JobsStore {
  const { retain, box, owner, running, turns, now, log, metrics, own } = options;
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
    box,
    now,
    maxWaiting: MOST_WAITING,
    onPromise: () => worker.kick(),
    onDelay: (error) => log.warn('job_not_written_yet', { reason: String(error) }),
  });
  own('jobs', () => jobs.settle(SETTLE_WITHIN_MS));
  const worker = jobWorker({
    jobs,
    leases,
    async run(job, mayGoOn) {
      // A job that gets no turn is left for later, as in an outage.
      const endTurn = await turns.take(job.body.length);
      try {
        return await runJob({ ...running, jobs }, job, mayGoOn);
      } finally {
        endTurn();
      }
    },
    atOnce: JOBS_AT_ONCE,
    everyMs: LOOK_EVERY_MS,
    onError: (error) => log.warn('job_left_undone', { reason: String(error) }),
  });
  worker.start();
  own('job worker', () => worker.stop());
  jobMetrics(metrics, worker);
  retain(jobRemovals(background, now));
  return jobs;
}
