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

interface Plan {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly Plans?: readonly Plan[];
}

interface Query {
  readonly text: string;
  readonly values?: readonly unknown[];
}

interface Explained {
  readonly 'QUERY PLAN': [{ readonly Plan: Plan; readonly 'Execution Time': number }];
}

/** Runs a statement and says what it did. */
export async function costOf(
  sql: { query(statement: Query): Promise<object[]> },
  { text, values = [] }: Query,
): Promise<StatementCost> {
  const [answer] = await sql.query({ text: `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values });
  const [{ Plan: root, 'Execution Time': ms }] = (answer as Explained)['QUERY PLAN'];
  const nodes = nodesOf(root);
  const scans = nodes.filter(({ 'Relation Name': relation }) => relation !== undefined);
  const bitmaps = nodes.filter((node) => node['Node Type'] === 'Bitmap Index Scan');
  return {
    ms: Math.round(ms * 10) / 10,
    rows: sum(scans.map(readBy)),
    entries: sum(bitmaps.map(readBy)),
    whole: scans.filter((node) => node['Node Type'] === 'Seq Scan').map((node) => node['Relation Name']!),
    indexes: [...new Set(nodes.flatMap((node) => node['Index Name'] ?? []))].toSorted(),
  };
}

const nodesOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
const sum = (all: readonly number[]): number => Math.round(all.reduce((total, one) => total + one, 0));

function readBy(node: Plan): number {
  const dropped = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
  return (node['Actual Rows'] + dropped) * node['Actual Loops'];
}
