import type { Log } from '@sealgate/observability';
import type { PrismaClient } from '../generated/prisma/client.ts';

/** How long the result of a job is kept, and the answer of an Idempotency-Key. */
export const KEEP_RESULTS_MS = 86_400_000;
/** From when a claim was answered, or else made. */
export const KEEP_CLAIMS_MS = 30 * 86_400_000;
const REMOVE_AT_ONCE = 1000;
const EVERY_MS = 3_600_000;

/** Removes what nobody can ask for any more, a thousand rows at a time. Returns how many went. */
export async function removeOldJobs(prisma: PrismaClient, nowMs: number): Promise<number> {
  const claimsBefore = new Date(nowMs - KEEP_CLAIMS_MS);
  const resultsBefore = new Date(nowMs - KEEP_RESULTS_MS);
  // A promise that is not kept is never removed: it is run until it is done.
  const where = {
    OR: [
      { claim: null, doneAt: { lt: resultsBefore } },
      { doneAt: { lt: claimsBefore } },
      { promised: false, answerStatus: null, createdAt: { lt: claimsBefore } },
    ],
  };
  let removed = 0;
  for (;;) {
    const rows = await prisma.job.findMany({ where, select: { jobId: true }, take: REMOVE_AT_ONCE });
    const { count } = await prisma.job.deleteMany({ where: { jobId: { in: rows.map(({ jobId }) => jobId) } } });
    removed += count;
    if (rows.length < REMOVE_AT_ONCE) return removed;
  }
}

/** Does so once an hour; returns what stops it. A failure is logged, and tried again an hour later. */
export function retainJobs({ remove, log }: { remove: () => Promise<number>; log: Log }): () => void {
  const timer = setInterval(() => {
    remove().catch((error: unknown) => log.warn('job_retention_failed', { reason: String(error) }));
  }, EVERY_MS);
  return () => clearInterval(timer);
}
