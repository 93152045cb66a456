import type { Sql } from '@sealgate/storage';

export interface LeasesOptions {
  readonly sql: Sql;
  /** Names this process among all that ever ran. */
  readonly owner: string;
  readonly lengthMs: number;
  readonly onError: (error: unknown) => void;
}

/** What this process has in its hands, told to the database again and again, so that nobody takes it meanwhile. */
export interface Leases {
  readonly owner: string;
  readonly lengthMs: number;
  hold(jobId: string): void;
  drop(jobId: string): void;
  /** Whether this process has it still, as far as it knows. */
  holds(jobId: string): boolean;
  close(): void;
}

/** A lease is renewed several times before it ends, so that one lost renewal costs nothing. */
const RENEWALS = 3;

export function leases({ sql, owner, lengthMs, onError }: LeasesOptions): Leases {
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
