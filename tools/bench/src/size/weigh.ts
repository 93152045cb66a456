import type { Site } from '../surfaces/site.ts';
import type { Weight } from './sized-surface.ts';

/** Bytes of PostgreSQL for each thing of a kind. */
export interface Weighed {
  readonly what: string;
  readonly rows: number;
  readonly bytes: number;
  readonly indexBytes: number;
}

const SCHEMAS = `ARRAY['ledger', 'ingest', 'gate', 'risk']`;

/** The tables of each kind with their indexes and partitions. */
export async function weigh({ sql }: Pick<Site, 'sql'>, weights: readonly Weight[]): Promise<Weighed[]> {
  const weighed: Weighed[] = [];
  for (const { what, tables, rows } of weights) {
    const [found] = await sql.query<{ bytes: string; indexes: string }>({
      text: `SELECT sum(pg_total_relation_size(c.oid))::bigint AS bytes, sum(pg_indexes_size(c.oid))::bigint AS indexes
               FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
              WHERE n.nspname = ANY (${SCHEMAS}) AND c.relkind = 'r'
                AND coalesce((SELECT inhparent FROM pg_inherits WHERE inhrelid = c.oid), c.oid)::regclass::text = ANY ($1)`,
      values: [tables],
    });
    weighed.push({ what, rows, bytes: Number(found?.bytes), indexBytes: Number(found?.indexes) });
  }
  return weighed;
}

export async function databaseBytes({ sql }: Pick<Site, 'sql'>): Promise<number> {
  const text = 'SELECT pg_database_size(current_database()) AS bytes';
  const [row] = await sql.query<{ bytes: string }>({ text });
  return Number(row?.bytes);
}
