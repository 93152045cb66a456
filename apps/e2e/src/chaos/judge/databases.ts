import pg from 'pg';

export type DatabaseUrls = Readonly<Partial<Record<string, string>>>;

/** The databases of the surfaces, read with plain SQL. */
export interface Databases {
  /** The surfaces whose database is known. */
  readonly surfaces: readonly string[];
  /** One surface for each different database. */
  readonly distinct: readonly string[];
  has(surface: string): boolean;
  /** All rows of a query. @throws Error if the surface has no database here. */
  rows<Row extends object>(surface: string, sql: string, values?: readonly unknown[]): Promise<Row[]>;
  close(): Promise<void>;
}

/** Opens one connection for each database. `urls`: by surface, of a role that may read all tables. */
export async function openDatabases(urls: DatabaseUrls): Promise<Databases> {
  const clients = new Map<string, pg.Client>();
  const given = Object.entries(urls).flatMap(([surface, url]) => (url === undefined ? [] : [{ surface, url }]));
  const close = async (): Promise<void> => {
    await Promise.all([...clients.values()].map((client) => client.end()));
  };
  try {
    for (const { url } of given) {
      if (clients.has(url)) continue;
      const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000, query_timeout: 600_000 });
      client.on('error', () => undefined);
      await client.connect();
      clients.set(url, client);
    }
  } catch (error) {
    await close();
    throw error;
  }
  const ofUrl = new Map(given.map(({ surface, url }) => [url, surface]));
  return {
    surfaces: given.map(({ surface }) => surface),
    distinct: [...ofUrl.values()],
    has: (surface) => urls[surface] !== undefined,
    async rows<Row extends object>(surface: string, sql: string, values: readonly unknown[] = []) {
      const client = clients.get(urls[surface] ?? '');
      if (client === undefined) throw new Error(`No database of ${surface} was named.`);
      const { rows } = await client.query<Row>(sql, [...values]);
      return rows;
    },
    close,
  };
}
