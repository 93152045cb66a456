import type { JobStore, KeptAnswer, KnownClaim, RequestClaim } from '../domain/jobs.ts';
import { beginStatement } from './job-statements.ts';
import type { JobTable } from './job-table.ts';

interface ClaimRow {
  job_id: string;
  fingerprint: string;
  answer_status: number | null;
  answer_body: string | null;
  answer_async: boolean;
}

const TAKES = 5;

/** Claims on Idempotency-Keys. */
export function jobClaims({ ask, leases, now }: JobTable): Pick<JobStore, 'begin' | 'look' | 'keep' | 'forget'> {
  const look = async ({ claim, acceptable }: RequestClaim): Promise<KnownClaim | undefined> => {
    const [row] = await ask<ClaimRow>({
      name: 'peer claim',
      text: 'SELECT job_id, fingerprint, answer_status, answer_body, answer_async FROM peer.jobs WHERE claim = $1',
      values: [claim],
    });
    return row === undefined ? undefined : knownClaim(row, acceptable);
  };
  return {
    look,
    async begin({ jobId, familyId, claim }) {
      // A row may be removed between the two questions; then they are asked again.
      for (let times = 0; times < TAKES; times += 1) {
        const [taken] = await ask<{ job_id: string }>(beginStatement({ jobId, familyId, claim, leases, nowMs: now() }));
        if (taken !== undefined) {
          leases.hold(taken.job_id);
          return { kind: 'begun', jobId: taken.job_id };
        }
        const known = await look(claim);
        if (known !== undefined) return known;
      }
      return { kind: 'running' };
    },
    async keep({ jobId, status, body }) {
      leases.drop(jobId);
      const rows = await ask({
        name: 'peer keep',
        text: `UPDATE peer.jobs SET status = 'done', answer_status = $3, answer_body = $4, lease_owner = NULL,
                      done_at = to_timestamp($5 / 1000.0)
                WHERE job_id = $1 AND lease_owner = $2 AND answer_status IS NULL RETURNING 1 AS kept`,
        values: [jobId, leases.owner, status, body, now()],
      });
      return rows.length > 0;
    },
    async forget(jobId) {
      leases.drop(jobId);
      const text = `DELETE FROM peer.jobs
                     WHERE job_id = $1 AND lease_owner = $2 AND answer_status IS NULL AND NOT promised`;
      // Where it cannot be removed now, its lease ends, and the same request takes it over.
      await ask({ text, values: [jobId, leases.owner] }).catch(() => undefined);
    },
  };
}

function knownClaim(row: ClaimRow, acceptable: readonly string[]): KnownClaim {
  if (!acceptable.includes(row.fingerprint)) return { kind: 'reused' };
  const { job_id: jobId, answer_status: status, answer_body: body, answer_async: isAsync } = row;
  if (status === null || body === null) return { kind: 'running' };
  return { kind: 'kept', answer: { jobId, status: status === 202 ? 202 : 200, body, isAsync } satisfies KeptAnswer };
}
