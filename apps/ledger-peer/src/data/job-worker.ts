import { abandonedResult } from '../domain/run-job.ts';
import type { TakenJob } from '../domain/jobs.ts';
import type { JobsStore } from './jobs-store.ts';
import type { Leases } from './leases.ts';

interface JobWorkerOptions {
  readonly jobs: Pick<JobsStore, 'take' | 'release' | 'finish'>;
  readonly leases: Leases;
  /** Runs a job; true: it is done. */
  readonly run: (job: TakenJob, mayGoOn: () => boolean) => Promise<boolean>;
  /** Maximum concurrent jobs of this process. */
  readonly atOnce: number;
  /** Polling interval for jobs of other processes. */
  readonly everyMs: number;
  readonly onError: (error: unknown) => void;
}

export interface JobWorker {
  start(): void;
  /** Polls now. */
  kick(): void;
  readonly running: number;
  /** Takes no more jobs, and waits until the running ones reach a point where another process can continue. */
  stop(): Promise<void>;
}

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 10_000;
/** A job is given up after this many attempts, so that a job that always fails is not retried for ever. */
const MOST_FAILURES = 20;
/** Limit of remembered attempts: a job finished by another process is never removed from them. */
const MOST_REMEMBERED = 10_000;

/** Runs jobs of any process, up to `atOnce` concurrently. Each is retried with growing delays until it is done. */
export function jobWorker({ jobs, leases, run, atOnce, everyMs, onError }: JobWorkerOptions): JobWorker {
  const running = new Map<string, Promise<void>>();
  /** Failed attempts of each job in this process; removed once it is done. */
  const attempts = new Map<string, { undone: number; failures: number }>();
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<void> | undefined;
  let again = false;
  let stopped = false;

  const work = async (job: TakenJob): Promise<void> => {
    const { jobId } = job;
    const tries = attempts.get(jobId) ?? { undone: 0, failures: 0 };
    try {
      const isDone = await run(job, () => !stopped && leases.holds(jobId));
      if (isDone) {
        attempts.delete(jobId);
        return;
      }
    } catch (error) {
      onError(error);
      tries.failures += isOutage(error) ? 0 : 1;
    }
    if (tries.failures >= MOST_FAILURES) {
      attempts.delete(jobId);
      return jobs.finish(jobId, abandonedResult(job));
    }
    tries.undone += 1;
    if (attempts.size >= MOST_REMEMBERED) attempts.clear();
    attempts.set(jobId, tries);
    const pauseMs = stopped ? 0 : Math.min(FIRST_PAUSE_MS * 2 ** Math.min(tries.undone - 1, 10), LONGEST_PAUSE_MS);
    await jobs.release(jobId, pauseMs);
  };
  const look = async (): Promise<void> => {
    do {
      again = false;
      const room = atOnce - running.size;
      if (stopped || room <= 0) return;
      for (const job of await jobs.take(room)) {
        const done = work(job)
          .catch(onError)
          .finally(() => {
            running.delete(job.jobId);
            leases.drop(job.jobId);
            kick();
          });
        running.set(job.jobId, done);
      }
    } while (again);
  };
  const kick = (): void => {
    again = true;
    looking ??= look()
      .catch(onError)
      .finally(() => (looking = undefined));
  };
  return {
    start: () => {
      timer = setInterval(kick, everyMs);
      kick();
    },
    kick,
    get running() {
      return running.size;
    },
    async stop() {
      stopped = true;
      clearInterval(timer);
      await looking;
      await Promise.all(running.values());
    },
  };
}

/** Temporary errors do not count as failed attempts. */
function isOutage(error: unknown): boolean {
  return error instanceof Error && 'status' in error && error.status === 503;
}
