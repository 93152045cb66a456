import type { Statement } from '@sealgate/storage';
import type { PromisedJob, RequestClaim } from '../domain/jobs.ts';
import type { Leases } from './leases.ts';

export interface Beginning {
  readonly jobId: string;
  readonly familyId: string;
  readonly claim: RequestClaim;
  readonly leases: Leases;
  readonly nowMs: number;
}

/** Takes a claim: a new one, or one whose holder is gone without an answer. No row comes back where it is somebody's. */
export function beginStatement({ jobId, familyId, claim, leases, nowMs }: Beginning): Statement {
  return {
    name: 'peer begin',
    text: `INSERT INTO peer.jobs AS j (job_id, family_id, claim, fingerprint, status, lease_owner, lease_until, created_at)
           VALUES ($1, $2, $3, $4, 'running', $5, now() + $6 * interval '1 ms', to_timestamp($7 / 1000.0))
           ON CONFLICT (claim) DO UPDATE SET lease_owner = EXCLUDED.lease_owner, lease_until = EXCLUDED.lease_until
             WHERE j.answer_status IS NULL AND NOT j.promised AND coalesce(j.lease_until < now(), true)
               AND j.fingerprint = ANY ($8)
           RETURNING job_id`,
    values: [
      jobId,
      familyId,
      claim.claim,
      claim.fingerprint,
      leases.owner,
      leases.lengthMs,
      nowMs,
      [...claim.acceptable],
    ],
  };
}

/**
 * Takes a claim that this process has made already without learning of it. No row comes back where it is another's by now.
 */
export function retakeStatement(jobId: string, leases: Leases): Statement {
  return {
    text: `UPDATE peer.jobs SET lease_until = now() + $3 * interval '1 ms'
            WHERE job_id = $1 AND lease_owner = $2 AND answer_status IS NULL AND NOT promised
           RETURNING job_id`,
    values: [jobId, leases.owner, leases.lengthMs],
  };
}

/** The row may be there: that of the request's own claim, or one whose writing went unanswered. */
export function promiseStatement(
  { jobId, familyId, body, results, answer }: PromisedJob,
  status: string,
  nowMs: number,
): Statement {
  return {
    text: `INSERT INTO peer.jobs AS j (job_id, family_id, promised, status, body, results, answer_status, answer_body,
                                       answer_async, created_at)
           VALUES ($1, $2, true, $3, $4, $5, $6, $7, $8, to_timestamp($9 / 1000.0))
           ON CONFLICT (job_id) DO UPDATE SET promised = true, status = EXCLUDED.status, body = EXCLUDED.body,
             results = EXCLUDED.results, answer_status = EXCLUDED.answer_status, answer_body = EXCLUDED.answer_body,
             answer_async = EXCLUDED.answer_async, lease_owner = NULL, lease_until = NULL
             WHERE NOT j.promised AND j.answer_status IS NULL`,
    values: [
      jobId,
      familyId,
      status,
      body,
      results.length === 0 ? null : JSON.stringify(results),
      answer.status,
      answer.body,
      answer.isAsync,
      nowMs,
    ],
  };
}

/** Promises that nobody has in hand, the oldest first; those that others take at the same moment are passed over. */
export function takeStatement(atMost: number, leases: Leases): Statement {
  return {
    name: 'peer take',
    text: `UPDATE peer.jobs SET status = 'running', lease_owner = $1, lease_until = now() + $2 * interval '1 ms'
            WHERE job_id IN (SELECT job_id FROM peer.jobs
                              WHERE promised AND status <> 'done' AND coalesce(lease_until < now(), true)
                                AND coalesce(not_before <= now(), true)
                              ORDER BY created_at LIMIT $3 FOR UPDATE SKIP LOCKED)
           RETURNING job_id, body, results`,
    values: [leases.owner, leases.lengthMs, atMost],
  };
}
