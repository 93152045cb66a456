/** A node of a plan as EXPLAIN tells it in JSON; what it did is there where it was run. */
export interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Actual Rows'?: number;
  readonly 'Actual Loops'?: number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly Plans?: readonly PlanNode[];
}

/** A node and all below it. */
export const planNodes = (plan: PlanNode): PlanNode[] => [plan, ...(plan.Plans ?? []).flatMap(planNodes)];

/** The tables that a plan reads whole, one for each scan. */
export const wholeTablesOf = (nodes: readonly PlanNode[]): string[] =>
  nodes.filter((node) => node['Node Type'] === 'Seq Scan').map((node) => node['Relation Name'] ?? '');

/** Rows that a scan read, those included that a filter dropped. */
export function rowsReadBy(node: PlanNode): number {
  const { 'Actual Rows': rows = 0, 'Actual Loops': loops = 0 } = node;
  const dropped = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
  return (rows + dropped) * loops;
}
