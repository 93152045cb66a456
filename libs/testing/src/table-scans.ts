import { planNodes, wholeTablesOf, type PlanNode } from './plan-nodes.ts';

interface Query {
  readonly text: string;
  readonly values?: readonly unknown[];
}

/**
 * The plan of a statement: the tables read by sequential scans, and the indexes used. The statement is not executed.
 */
export async function scansOf(
  sql: { query(statement: Query): Promise<object[]> },
  { text, values = [] }: Query,
): Promise<{ readonly whole: readonly string[]; readonly indexes: readonly string[] }> {
  const [row] = await sql.query({ text: `EXPLAIN (FORMAT JSON) ${text}`, values });
  const [{ Plan: root }] = (row as { 'QUERY PLAN': [{ Plan: PlanNode }] })['QUERY PLAN'];
  const all = planNodes(root);
  return {
    whole: wholeTablesOf(all),
    indexes: all.flatMap((node) => node['Index Name'] ?? []),
  };
}

/** Columns of times in a schema that no CHECK bounds: a row at `infinity` would make lists of them fail. */
export async function unboundedTimes(
  sql: { query(statement: Query): Promise<object[]> },
  schema: string,
): Promise<string[]> {
  const rows = await sql.query({
    // The bound is an end of time, or a year that RFC 3339 can no longer say.
    text: `SELECT t.relname || '.' || a.attname AS name FROM pg_attribute a JOIN pg_class t ON t.oid = a.attrelid
            WHERE t.relnamespace = $1::regnamespace AND t.relkind IN ('r', 'p') AND a.atttypid = 'timestamptz'::regtype
              AND NOT EXISTS (SELECT FROM pg_constraint c
                               WHERE c.conrelid = t.oid AND c.contype = 'c' AND a.attnum = ANY (c.conkey)
                                 AND pg_get_constraintdef(c.oid) ~ '(infinity|10000-|9999-)')
            ORDER BY 1`,
    values: [schema],
  });
  return rows.map((row) => (row as { name: string }).name);
}
