import type { Claim } from '@sealgate/idempotency';
import { type Removal, removalStep, type RemovalStep, type Sql, type Statement } from '@sealgate/storage';
import type { PromisedJob } from '../domain/jobs.ts';
import type { Leases } from './leases.ts';

export interface Beginning {
  readonly jobId: string;
  readonly familyId: string;
  readonly identity: string | undefined;
  readonly claim: Claim;
  readonly leases: Leases;
  readonly nowMs: number;
}

/**
 * Takes a claim: a new one, or one whose holder is gone without an answer. Returns no row if another process holds it.
 */
export function beginStatement({ jobId, familyId, identity, claim, leases, nowMs }: Beginning): Statement {
  return {
    name: 'peer begin',
    text: `INSERT INTO peer.jobs AS j (job_id, family_id, claim, fingerprint, status, lease_owner, lease_until, created_at, identity)
           VALUES ($1, $2, $3, $4, 'running', $5, now() + $6 * interval '1 ms', to_timestamp($7 / 1000.0), $9)
           ON CONFLICT (claim) DO UPDATE SET lease_owner = EXCLUDED.lease_owner, lease_until = EXCLUDED.lease_until
             WHERE j.answer_status IS NULL AND NOT j.promised AND coalesce(j.lease_until < now(), true)
               AND j.fingerprint = ANY ($8)
           RETURNING job_id, identity`,
    values: [
      jobId,
      familyId,
      claim.claim,
      claim.fingerprint,
      leases.owner,
      leases.lengthMs,
      nowMs,
      [...claim.acceptable],
      identity ?? null,
    ],
  };
}

/** Takes a claim that this process may have created already. Returns no row if another process holds it. */
export function retakeStatement(jobId: string, leases: Leases): Statement {
  return {
    text: `UPDATE peer.jobs SET lease_until = now() + $3 * interval '1 ms'
            WHERE job_id = $1 AND lease_owner = $2 AND answer_status IS NULL AND NOT promised
           RETURNING job_id, identity`,
    values: [jobId, leases.owner, leases.lengthMs],
  };
}

/** The row may exist: the request's own claim, or an earlier INSERT without an answer. */
export function promiseStatement(
  { jobId, familyId, identity, body, results, answer }: PromisedJob,
  { status, sealed, nowMs }: { readonly status: string; readonly sealed: string | null; readonly nowMs: number },
): Statement {
  return {
    text: `INSERT INTO peer.jobs AS j (job_id, family_id, promised, status, body, results, answer_status, answer_body,
                                       answer_async, created_at, sealed, identity)
           VALUES ($1, $2, true, $3, $4, $5, $6, $7, $8, to_timestamp($9 / 1000.0), $10, $11)
           ON CONFLICT (job_id) DO UPDATE SET promised = true, status = EXCLUDED.status, body = EXCLUDED.body, sealed = EXCLUDED.sealed,
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
      sealed,
      identity ?? null,
    ],
  };
}

/** Takes jobs without a holder, oldest first; rows locked by others are skipped. */
export function takeStatement(atMost: number, leases: Leases): Statement {
  return {
    name: 'peer take',
    text: `UPDATE peer.jobs SET status = 'running', lease_owner = $1, lease_until = now() + $2 * interval '1 ms'
            WHERE job_id IN (SELECT job_id FROM peer.jobs
                              WHERE promised AND status <> 'done' AND coalesce(lease_until < now(), true)
                                AND coalesce(not_before <= now(), true)
                              ORDER BY created_at LIMIT $3 FOR UPDATE SKIP LOCKED)
           RETURNING job_id, body, results, sealed, identity`,
    values: [leases.owner, leases.lengthMs, atMost],
  };
}

/** Retention of the result of a job, and of the response of an Idempotency-Key. */
export const KEEP_RESULTS_MS = 86_400_000;
/** Since a claim was answered, or else created. */
export const KEEP_CLAIMS_MS = 30 * 86_400_000;

/** Rows that no request can ask for any more. An unfinished job is never removed: it is run until it is done. */
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

/** Removal steps by name. */
export function jobRemovals(sql: Sql, now: () => number): Record<string, RemovalStep> {
  return {
    'job results': removalStep(sql, () => oldJobs(now()).results),
    'job claims': removalStep(sql, () => oldJobs(now()).claims),
    'unanswered claims': removalStep(sql, () => oldJobs(now()).unanswered),
  };
}
