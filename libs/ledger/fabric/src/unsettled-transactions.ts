import type { Sql } from '@sealgate/storage';

/** As one item of what waits in a surface. */
export interface UnsettledTransactions {
  readonly what: 'journal';
  readonly description: string;
  readonly count: number;
  readonly oldestAt: Date | undefined;
}

/** Transactions in the journal of which nobody knows yet what became of them, whichever process sent them. */
export async function unsettledTransactions(sql: Sql, schema: string): Promise<UnsettledTransactions> {
  const [row] = await sql.query<{ count: string; oldest: Date | null }>({
    text: `SELECT count(*) AS count, min(begun_at) AS oldest FROM ${schema}.fabric_transactions WHERE settled_at IS NULL`,
  });
  return {
    what: 'journal',
    description: 'Transactions on Fabric whose outcome is not known yet',
    count: Number(row?.count ?? 0),
    oldestAt: row?.oldest ?? undefined,
  };
}
