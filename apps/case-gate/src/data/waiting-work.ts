import type { WaitingItem } from '@sealgate/http';
import type { Sql } from '@sealgate/storage';

/** Records on their way to the ledger, and seals that no checkpoint was seen to cover. */
export async function waitingWork(sql: Sql): Promise<WaitingItem[]> {
  const [row] = await sql.query<{ outbox: string; proofs: string; oldest_proof: Date | null }>({
    text: `SELECT (SELECT count(*) FROM gate.outbox) AS outbox, count(*) AS proofs, min(s.sealed_at) AS oldest_proof
             FROM gate.seals s WHERE s.status = 'sealed' AND s.proof IS NULL`,
  });
  return [
    {
      what: 'outbox',
      description: 'Records that are still to be written to the ledger',
      count: Number(row?.outbox ?? 0),
      oldestAt: undefined,
    },
    {
      what: 'proofs',
      description: 'Seals whose proof is still to be kept',
      count: Number(row?.proofs ?? 0),
      oldestAt: row?.oldest_proof ?? undefined,
    },
  ];
}
