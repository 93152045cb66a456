interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly Plans?: readonly PlanNode[];
}

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
  const nodes = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodes)];
  const all = nodes(root);
  return {
    whole: all.filter((node) => node['Node Type'] === 'Seq Scan').map((node) => node['Relation Name'] ?? ''),
    indexes: all.flatMap((node) => node['Index Name'] ?? []),
  };
}
