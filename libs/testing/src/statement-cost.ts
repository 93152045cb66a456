import { planNodes, rowsReadBy, wholeTablesOf, type PlanNode } from './plan-nodes.ts';

/** What a statement does. */
export interface StatementCost {
  readonly ms: number;
  /** Rows that scans of tables and ordered indexes read, those included that a filter dropped. */
  readonly rows: number;
  /** Entries that bitmaps of indexes were made of: many fit in a page. */
  readonly entries: number;
  /** Tables that were read whole. */
  readonly whole: readonly string[];
  readonly indexes: readonly string[];
}

interface Query {
  readonly text: string;
  readonly values?: readonly unknown[];
}

interface Explained {
  readonly 'QUERY PLAN': [{ readonly Plan: PlanNode; readonly 'Execution Time': number }];
}

/** Runs a statement and says what it did. */
export async function costOf(
  sql: { query(statement: Query): Promise<object[]> },
  { text, values = [] }: Query,
): Promise<StatementCost> {
  const [answer] = await sql.query({ text: `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values });
  const [{ Plan: root, 'Execution Time': ms }] = (answer as Explained)['QUERY PLAN'];
  const nodes = planNodes(root);
  const scans = nodes.filter(({ 'Relation Name': relation }) => relation !== undefined);
  const bitmaps = nodes.filter((node) => node['Node Type'] === 'Bitmap Index Scan');
  return {
    ms: Math.round(ms * 10) / 10,
    rows: sum(scans.map(rowsReadBy)),
    entries: sum(bitmaps.map(rowsReadBy)),
    whole: wholeTablesOf(scans),
    indexes: [...new Set(nodes.flatMap((node) => node['Index Name'] ?? []))].toSorted(),
  };
}

const sum = (all: readonly number[]): number => Math.round(all.reduce((total, one) => total + one, 0));

/** A cost as a line for people. */
export const costLine = (name: string, { ms, rows, entries, indexes }: StatementCost): string =>
  `${name}: ${ms} ms, ${rows} rows, ${entries} entries, ${indexes.join(' ')}\n`;
