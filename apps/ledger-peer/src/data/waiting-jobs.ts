import type { WaitingItem } from '@sealgate/http';
import type { Sql } from '@sealgate/storage';

/** Jobs that a sender was told to ask for and that are not done, whichever process has them. */
export async function waitingJobs(sql: Sql): Promise<WaitingItem> {
  const [row] = await sql.query<{ count: string; oldest: Date | null }>({
    text: `SELECT count(*) AS count, min(created_at) AS oldest FROM peer.jobs WHERE promised AND status <> 'done'`,
  });
  return {
    what: 'jobs',
    description: 'Jobs that are not done yet',
    count: Number(row?.count ?? 0),
    oldestAt: row?.oldest ?? undefined,
  };
}
