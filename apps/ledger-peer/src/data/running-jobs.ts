import type { AssetResult } from '../domain/asset-result.ts';
import type { RunningJobs, TakenJob } from '../domain/jobs.ts';
import { takeStatement } from './job-statements.ts';
import type { JobTable } from './job-table.ts';

/** Promised jobs, for whoever runs them. */
export interface JobQueue extends RunningJobs {
  /** Takes jobs that nobody runs, the oldest first. */
  take(atMost: number): Promise<TakenJob[]>;
  /** Lets go of a job that is not done, for some time. */
  release(jobId: string, forMs: number): Promise<void>;
}

export function jobQueue({ ask, leases, now }: JobTable): JobQueue {
  return {
    async take(atMost) {
      const rows = await ask<{ job_id: string; body: string; results: string | null }>(takeStatement(atMost, leases));
      for (const { job_id: jobId } of rows) leases.hold(jobId);
      return rows.map(({ job_id: jobId, body, results }) => ({ jobId, body, results: resultsOf(results) }));
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
      const text = `UPDATE peer.jobs SET status = 'done', result = $3, results = NULL, body = NULL, lease_owner = NULL,
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
  const results = JSON.parse(text) as (AssetResult | null)[]; // Written by `saveResults`, and by nobody else.
  return results.map((result) => result ?? undefined);
}
