import { removalStep, type Removal, type RemovalStep, type Sql } from '@sealgate/storage';

/** How long the result of a job is kept, and the answer of an Idempotency-Key. */
export const KEEP_RESULTS_MS = 86_400_000;
/** From when a claim was answered, or else made. */
export const KEEP_CLAIMS_MS = 30 * 86_400_000;

/** What nobody can ask for any more. A promise that is not kept is never removed: it is run until it is done. */
export function oldJobs(nowMs: number): Record<'results' | 'claims' | 'unanswered', Removal> {
  const [results, claims] = [new Date(nowMs - KEEP_RESULTS_MS), new Date(nowMs - KEEP_CLAIMS_MS)];
  const jobs = { table: 'peer.jobs', orderBy: 'done_at' };
  return {
    results: { ...jobs, condition: 'claim IS NULL AND done_at < $1', values: [results] },
    claims: { ...jobs, condition: 'claim IS NOT NULL AND done_at < $1', values: [claims] },
    unanswered: {
      ...jobs,
      condition: 'NOT promised AND answer_status IS NULL AND created_at < $1',
      orderBy: 'created_at',
      values: [claims],
    },
  };
}

/** The steps that remove them, by name. */
export function jobRemovals(sql: Sql, now: () => number): Record<string, RemovalStep> {
  return {
    'job results': removalStep(sql, () => oldJobs(now()).results),
    'job claims': removalStep(sql, () => oldJobs(now()).claims),
    'unanswered claims': removalStep(sql, () => oldJobs(now()).unanswered),
  };
}
