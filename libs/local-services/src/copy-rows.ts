import pg from 'pg';

/** Rows in one statement: what it changes is held in memory until its triggers have run. */
const PORTION = 50_000;
/** Rows from which it is faster to make the indexes anew than to add to them. */
const MANY = 100_000;
const TIMEOUT_MS = 1_800_000;

interface Copies {
  readonly count: number;
  /** SQL of the columns that differ; `t` is the copied row, `g` counts the copies from 1. */
  readonly set: Readonly<Record<string, string>>;
  /** The condition of the row to copy, one of those that match. */
  readonly from?: string;
}

/** Adds copies of one row of a table, as its doors made it. */
export const copyRows = (url: string, { table, ...copies }: Copies & { readonly table: string }): Promise<void> =>
  onTable(url, table, (client) => copy(client, table, copies));

/**
 * Adds copies of several rows of a table that nobody uses meanwhile: its indexes are made anew where the copies are many.
 */
export const fillTable = (url: string, table: string, all: readonly Copies[]): Promise<void> =>
  onTable(url, table, async (client) => {
    const isMany = all.reduce((sum, { count }) => sum + count, 0) >= MANY;
    const indexes = isMany ? await dropIndexes(client, table) : [];
    try {
      for (const copies of all) await copy(client, table, copies);
    } finally {
      for (const index of indexes) await client.query(index);
    }
  });

async function onTable(url: string, table: string, add: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString: url, query_timeout: TIMEOUT_MS });
  await client.connect();
  try {
    await add(client);
    await client.query(`VACUUM ANALYZE ${table}`);
  } finally {
    await client.end();
  }
}

/** Drops the indexes that guard nothing, and returns their definitions. */
async function dropIndexes(client: pg.Client, table: string): Promise<string[]> {
  const { rows } = await client.query<{ name: string; definition: string }>(
    `SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition FROM pg_index
      WHERE indrelid = $1::regclass AND NOT indisunique`,
    [table],
  );
  for (const { name } of rows) await client.query(`DROP INDEX ${name}`);
  await client.query(`SET maintenance_work_mem = '512MB'`);
  // That of a partitioned table names it alone, without its partitions.
  return rows.map(({ definition }) => definition.replace(' ON ONLY ', ' ON '));
}

async function copy(client: pg.Client, table: string, { count, set, from = 'true' }: Copies): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT a.attname AS name FROM pg_attribute a
      WHERE a.attrelid = $1::regclass AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' AND a.attidentity = ''`,
    [table],
  );
  const names = rows.map(({ name }) => name);
  const values = names.map((name) => set[name] ?? `t.${name}`);
  // All portions are of the same row: the newest one would be a copy.
  await client.query(`CREATE TEMP TABLE model AS SELECT * FROM ${table} WHERE ${from} LIMIT 1`);
  for (let first = 1; first <= count; first += PORTION) {
    const last = Math.min(first + PORTION - 1, count);
    const { rowCount } = await client.query(
      `INSERT INTO ${table} (${names.join(', ')}) SELECT ${values.join(', ')}
         FROM model t, generate_series(${first}, ${last}) g`,
    );
    if (rowCount !== last - first + 1) throw new Error(`${table} has no row to copy.`);
  }
  await client.query('DROP TABLE model');
}
