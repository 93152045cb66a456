import type { Sql } from '@sealgate/storage';

/** Claims and jobs held by this process. Their leases are renewed, so that no other process takes them. */
export interface Leases {
  readonly owner: string;
  readonly lengthMs: number;
  hold(jobId: string): void;
  drop(jobId: string): void;
  /** Whether this process still holds it, as far as it knows. */
  holds(jobId: string): boolean;
  close(): void;
}

/** Renewals within the length of a lease, so that a lost renewal does no harm. */
const RENEWALS = 3;

export function leases({
  sql,
  owner,
  lengthMs,
  onError,
}: {
  readonly sql: Sql;
  /** Unique among all processes, past and present. */
  readonly owner: string;
  readonly lengthMs: number;
  readonly onError: (error: unknown) => void;
}): Leases {
  const held = new Set<string>();
  const renew = async (): Promise<void> => {
    if (held.size === 0) return;
    const asked = [...held];
    const rows = await sql.query<{ job_id: string }>({
      name: 'peer renew',
      text: `UPDATE peer.jobs SET lease_until = now() + $3 * interval '1 ms'
              WHERE job_id = ANY ($1) AND lease_owner = $2 RETURNING job_id`,
      values: [asked, owner, lengthMs],
    });
    const ours = new Set(rows.map(({ job_id: jobId }) => jobId));
    for (const jobId of asked) if (!ours.has(jobId)) held.delete(jobId);
  };
  const timer = setInterval(() => void renew().catch(onError), Math.floor(lengthMs / RENEWALS));
  return {
    owner,
    lengthMs,
    hold: (jobId) => void held.add(jobId),
    drop: (jobId) => void held.delete(jobId),
    holds: (jobId) => held.has(jobId),
    close: () => clearInterval(timer),
  };
}
