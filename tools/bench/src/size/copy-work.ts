import type { FillAt, SizedWork } from './sized-surface.ts';

const deadlineMs = 3_600_000;
const MEBIBYTE = 1024 ** 2;

/** What a dump does: reads every table to its end and writes its rows as text, here to nowhere. */
export const copyWork = ({ sql }: FillAt['site']): SizedWork => ({
  what: 'every table as text, as a dump reads it',
  ...{ unit: 'ms a MiB', target: 'sizeRatio' },
  async run() {
    const tables = await sql.query<{ name: string; bytes: string }>({
      text: `SELECT c.oid::regclass::text AS name, pg_table_size(c.oid) AS bytes FROM pg_class c
              WHERE c.relkind = 'r' AND c.relnamespace::regnamespace::text !~ '^(pg_|information_schema)'`,
    });
    const startedAt = performance.now();
    for (const { name } of tables) await sql.query({ text: `COPY ${name} TO '/dev/null'` }, { deadlineMs });
    const bytes = tables.reduce((sum, table) => sum + Number(table.bytes), 0);
    return ((performance.now() - startedAt) * MEBIBYTE) / bytes;
  },
});
