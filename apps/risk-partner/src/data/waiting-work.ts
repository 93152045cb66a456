import type { WaitingItem } from '@sealgate/http';
import type { Sql } from '@sealgate/storage';

/** Fingerprints on their way to the ledger, and those that no checkpoint was seen to cover. */
export async function waitingWork(sql: Sql): Promise<WaitingItem[]> {
  const rows = await sql.query<{ state: string; count: string; oldest: Date }>({
    text: `SELECT state, count(*) AS count, min(created_at) AS oldest FROM risk.anchors
            WHERE state IN ('waiting', 'anchored') AND due_at < 'infinity' GROUP BY state`,
  });
  const item = (what: string, description: string, state: string): WaitingItem => {
    const row = rows.find((one) => one.state === state);
    return { what, description, count: Number(row?.count ?? 0), oldestAt: row?.oldest };
  };
  return [
    item('anchors', 'Fingerprints of evidence that are still to be written to the ledger', 'waiting'),
    item('proofs', 'Anchored fingerprints whose proof is still to be kept', 'anchored'),
  ];
}
