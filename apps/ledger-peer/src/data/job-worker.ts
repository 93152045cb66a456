import { abandonedResult } from '../domain/run-job.ts';
import type { TakenJob } from '../domain/jobs.ts';
import type { JobsStore } from './jobs-store.ts';
import type { Leases } from './leases.ts';

export interface JobWorkerOptions {
  readonly jobs: Pick<JobsStore, 'take' | 'release' | 'finish'>;
  readonly leases: Leases;
  /** Brings a job further; true: it is done. */
  readonly run: (job: TakenJob, mayGoOn: () => boolean) => Promise<boolean>;
  /** Jobs of this process at once. */
  readonly atOnce: number;
  /** How often waiting jobs are looked for besides when one is made here. */
  readonly everyMs: number;
  readonly onError: (error: unknown) => void;
}

export interface JobWorker {
  start(): void;
  /** Looks for jobs now. */
  kick(): void;
  readonly running: number;
  /** Takes no more, and waits for those that run to reach a place where another process can go on. */
  stop(): Promise<void>;
}

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 10_000;
/** A job that was tried so often is given up: something in it cannot be done, and it must not be tried for ever. */
const MOST_FAILURES = 20;
/** Jobs whose attempts are remembered; one that another process has finished meanwhile is never asked for again. */
const MOST_REMEMBERED = 10_000;

/** Runs promised jobs of any process, as many at once as it may. Each is run again, ever later, until it is done. */
export function jobWorker({ jobs, leases, run, atOnce, everyMs, onError }: JobWorkerOptions): JobWorker {
  const running = new Map<string, Promise<void>>();
  /** How often a job was left undone by this process; forgotten once it is done. */
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

/** What ends by itself is no reason to give a job up. */
function isOutage(error: unknown): boolean {
  return error instanceof Error && 'status' in error && error.status === 503;
}
