import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '@sealgate/storage';

/** PostgreSQL's plan of a page. */
export interface ReadPlan {
  /** Every node of the plan from the outside in, such as `Limit`, `Index Scan`. */
  readonly nodes: readonly string[];
  readonly index: string | undefined;
  readonly faults: readonly string[];
}

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly Plans?: readonly PlanNode[];
}

/** A connection that read a page may run another statement a moment later. */
const mostLooks = 100;

/**
 * The plan of the service's statement for a page behind a cursor: the statement as it was sent, planned generically, as
 * PostgreSQL does for a prepared statement that is used often.
 */
export async function planOfPages(sql: Database, readPage: () => Promise<unknown>): Promise<ReadPlan> {
  let sent: { query: string } | undefined;
  for (let look = 0; look < mostLooks && sent === undefined; look += 1) {
    await readPage();
    [sent] = await sql.query<{ query: string }>({
      text: `SELECT query FROM pg_stat_activity
              WHERE application_name = 'risk-partner' AND query LIKE '%risk.resources%' AND query LIKE '%> ($%' LIMIT 1`,
    });
  }
  if (sent === undefined) return { nodes: [], index: undefined, faults: ['No connection has read a page.'] };
  const [row] = await sql.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>({
    text: `EXPLAIN (GENERIC_PLAN, FORMAT JSON) ${sent.query}`,
  });
  const nodes = flat(row!['QUERY PLAN'][0].Plan);
  const scan = nodes.find((node) => node['Index Name'] === 'resources_walk');
  const names = nodes.map((node) => node['Node Type']);
  const isRange = scan?.['Index Cond']?.includes('ROW(created_at, id) > ROW(') === true;
  const faults = [
    ...(names.some((name) => name.includes('Sort')) ? [`The plan of a page sorts: ${names.join(', ')}.`] : []),
    ...(isRange ? [] : [`A page is no range of the index resources_walk: ${names.join(', ')}.`]),
  ];
  return { nodes: names, index: scan?.['Index Name'], faults };
}

const flat = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(flat)];

/** PostgreSQL's counters of the table so far. */
export interface ReadCounts {
  readonly sequentialScans: number;
  readonly indexScans: number;
  /** Index entries read. */
  readonly entries: number;
}

/** Idle connections report their counters within ten seconds. */
const toldWithinMs = 11_000;

export async function readCounts(sql: Database): Promise<ReadCounts> {
  await delay(toldWithinMs);
  const [row] = await sql.query<{ seq: string; scans: string; entries: string }>({
    text: `SELECT t.seq_scan AS seq, i.idx_scan AS scans, i.idx_tup_read AS entries
             FROM pg_stat_user_tables t JOIN pg_stat_user_indexes i USING (relid)
            WHERE t.schemaname = 'risk' AND t.relname = 'resources' AND i.indexrelname = 'resources_walk'`,
  });
  return {
    sequentialScans: Number(row?.seq),
    indexScans: Number(row?.scans),
    entries: Number(row?.entries),
  };
}
