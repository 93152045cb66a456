import type { SecretBox } from '@sealgate/auth';
import type { Claim } from '@sealgate/idempotency';
import type { JobStore, KeptAnswer, KnownClaim } from '../domain/jobs.ts';
import { beginStatement, retakeStatement, type Beginning } from './job-statements.ts';
import { confirmRows, type Statement } from '@sealgate/storage';
import type { Leases } from './leases.ts';

/** Shared access to the jobs table. */
export interface JobTable {
  /** @throws AppError UNAVAILABLE if the database does not answer. */
  readonly ask: <Row extends object>(statement: Statement) => Promise<Row[]>;
  readonly leases: Leases;
  /** Seals transient members; the context is the id of the job. */
  readonly box: SecretBox;
  readonly now: () => number;
}

interface TakenRow {
  readonly job_id: string;
  readonly identity: string | null;
}

interface ClaimRow {
  job_id: string;
  fingerprint: string;
  lease_owner: string | null;
  /** Whether a live process holds it. */
  is_held: boolean;
  answer_status: number | null;
  answer_body: string | null;
  answer_async: boolean;
}

const TAKES = 5;

/** Claims on Idempotency-Keys. */
export function jobClaims({
  ask,
  leases,
  now,
}: JobTable): Pick<JobStore, 'begin' | 'look' | 'keep' | 'forget' | 'leave'> {
  const look = async (claim: Claim): Promise<KnownClaim | undefined> => {
    const row = await findClaim(ask, claim);
    if (row === undefined) return undefined;
    const known = knownClaim(row, claim.acceptable);
    // `begin` locks the row, so it commits after the one that made it; this wrote nothing.
    if (known.kind === 'kept') await confirmRows({ query: ask });
    return known;
  };
  const unanswered = new UnansweredClaims();
  const take = async (beginning: Beginning): Promise<TakenRow | undefined> => {
    try {
      const [taken] = await ask<TakenRow>(beginStatement(beginning));
      return taken;
    } catch (error) {
      unanswered.add(beginning.claim);
      throw error;
    }
  };
  /** The statement that took the claim got no answer: the same request need not wait for the lease. */
  const retake = async (row: ClaimRow, claim: Claim): Promise<TakenRow | undefined> => {
    const isLost = row.lease_owner === leases.owner && !leases.holds(row.job_id) && unanswered.has(claim);
    if (!isLost) return undefined;
    const [taken] = await ask<TakenRow>(retakeStatement(row.job_id, leases));
    return taken;
  };
  const begun = ({ job_id: jobId, identity }: TakenRow, claim: Claim, isNew: boolean) => {
    unanswered.delete(claim);
    leases.hold(jobId);
    return { kind: 'begun', jobId, isNew, identity: identity ?? undefined } as const;
  };
  return {
    look,
    async begin({ jobId, familyId, identity, claim }) {
      // The row may be removed between the two statements; then both are repeated.
      for (let times = 0; times < TAKES; times += 1) {
        const taken = await take({ jobId, familyId, identity, claim, leases, nowMs: now() });
        // A claim that is taken over keeps its job id and its identity.
        if (taken !== undefined) return begun(taken, claim, taken.job_id === jobId);
        const row = await findClaim(ask, claim);
        if (row === undefined) continue;
        const known = knownClaim(row, claim.acceptable);
        const isOurs = known.kind === 'running' && claim.acceptable.includes(row.fingerprint);
        const again = isOurs ? await retake(row, claim) : undefined;
        return again === undefined ? known : begun(again, claim, false);
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
      // If it cannot be removed now, its lease expires, and the same request takes it over.
      await ask({ text, values: [jobId, leases.owner] }).catch(() => undefined);
    },
    async leave(jobId) {
      leases.drop(jobId);
      const text = `UPDATE peer.jobs SET lease_owner = NULL, lease_until = NULL
                     WHERE job_id = $1 AND lease_owner = $2 AND answer_status IS NULL AND NOT promised`;
      // If it cannot be written now, the lease expires.
      await ask({ text, values: [jobId, leases.owner] }).catch(() => undefined);
    },
  };
}

async function findClaim(ask: JobTable['ask'], { claim }: Claim): Promise<ClaimRow | undefined> {
  const [row] = await ask<ClaimRow>({
    name: 'peer claim',
    text: `SELECT job_id, fingerprint, lease_owner, coalesce(lease_until >= now(), false) AS is_held,
                  answer_status, answer_body, answer_async
             FROM peer.jobs WHERE claim = $1`,
    values: [claim],
  });
  return row;
}

/** Above this, the oldest waits for its lease. */
const MOST_UNANSWERED = 1000;

/** Claims that this process tried to create without an answer; one request at a time retries each. */
class UnansweredClaims {
  readonly #names = new Set<string>();

  add({ claim }: Claim): void {
    const [oldest] = this.#names;
    if (oldest !== undefined && this.#names.size >= MOST_UNANSWERED) this.#names.delete(oldest);
    this.#names.add(claim.toString('latin1'));
  }

  has({ claim }: Claim): boolean {
    return this.#names.has(claim.toString('latin1'));
  }

  delete({ claim }: Claim): void {
    if (this.#names.size > 0) this.#names.delete(claim.toString('latin1'));
  }
}

/** A claim in progress may fail and leave no row, so its key does not count as used until it is answered. */
function knownClaim(row: ClaimRow, acceptable: readonly string[]): KnownClaim {
  const { job_id: jobId, answer_status: status, answer_body: body, answer_async: isAsync } = row;
  const isAnswered = status !== null && body !== null;
  if (!isAnswered && row.is_held) return { kind: 'running' };
  if (!acceptable.includes(row.fingerprint)) return { kind: 'reused' };
  if (!isAnswered) return { kind: 'running' };
  return { kind: 'kept', answer: { jobId, status: status === 202 ? 202 : 200, body, isAsync } satisfies KeptAnswer };
}
