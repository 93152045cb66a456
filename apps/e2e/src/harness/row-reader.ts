import pg from 'pg';

/** A record as a row of the database: `<channel>/<index>/<id>`. */
export type Row = string;

/**
 * The records of a server, read with plain SQL. It imports nothing of ours, so that no mistake of the services hides
 * one of theirs.
 */
export async function readRows(url: string): Promise<readonly Row[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000, query_timeout: 60_000 });
  client.on('error', () => undefined);
  await client.connect();
  try {
    const { rows } = await client.query<{ channel: string; index: string; id: string }>(
      'SELECT channel, idx::text AS index, id FROM ledger.records JOIN ledger.channels USING (channel_id)',
    );
    return rows.map(({ channel, index, id }) => `${channel}/${index}/${id}`);
  } finally {
    await client.end();
  }
}
