import { createReadStream, statSync } from 'node:fs';
import { planNodes, rowsReadBy, wholeTablesOf, type PlanNode } from '@sealgate/testing';
import pg from 'pg';

/** Settings of a server that tells the plan of every statement, once `explained` asks for it. */
export const explainingSettings: Readonly<Record<string, string>> = {
  shared_preload_libraries: 'auto_explain',
  'auto_explain.log_analyze': 'on',
  'auto_explain.log_timing': 'off',
  'auto_explain.log_format': 'json',
  'auto_explain.log_nested_statements': 'on',
  'auto_explain.log_parameter_max_length': '0',
  // An entry is `@@<application name>@@ LOG:  duration: ...`, over several lines.
  log_line_prefix: '@@%a@@ ',
  shared_buffers: '256MB',
  maintenance_work_mem: '256MB',
  max_wal_size: '8GB',
  // As on a disk of today: by default pages in random order count as on a turning one.
  random_page_cost: '1.1',
};

/** A statement that was run, at its most expensive. */
export interface StatementCost {
  readonly text: string;
  /** The `application_name` of its connection: the pool. */
  readonly pool: string;
  readonly runs: number;
  /** Rows of tables that were looked at. */
  readonly rowsRead: number;
  /** Milliseconds. */
  readonly tookMs: number;
  /** Tables that were read as a whole. */
  readonly wholeTables: readonly string[];
}

/** Runs work, and tells every statement that the server ran meanwhile on connections of these names. */
export async function explained(
  url: string,
  work: () => Promise<void>,
  isOurs: (applicationName: string) => boolean,
): Promise<StatementCost[]> {
  const client = new pg.Client({ connectionString: url, application_name: 'statement list' });
  await client.connect();
  try {
    const { rows } = await client.query<{ folder: string }>(`SELECT current_setting('data_directory') AS folder`);
    // The log of a server that a test starts is beside its data.
    const logFile = `${rows[0]?.folder}.log`;
    const turn = async (ms: number): Promise<void> => {
      await client.query(`ALTER SYSTEM SET auto_explain.log_min_duration = ${ms}`);
      await client.query('SELECT pg_reload_conf()');
    };
    const { size: start } = statSync(logFile);
    await turn(0);
    await work();
    await turn(-1);
    return await costsOf(createReadStream(logFile, { start, encoding: 'utf8' }), isOurs);
  } finally {
    await client.end();
  }
}

async function costsOf(
  chunks: AsyncIterable<string>,
  isOurs: (applicationName: string) => boolean,
): Promise<StatementCost[]> {
  const costs = new Map<string, StatementCost>();
  const add = (entry: string): void => {
    const cost = costOf(entry, isOurs);
    if (cost === undefined) return;
    const name = `${cost.pool} ${cost.text}`;
    costs.set(name, worse(costs.get(name), cost));
  };
  let rest = '';
  for await (const chunk of chunks) {
    const entries = (rest + chunk).split('\n@@');
    rest = entries.pop() ?? '';
    entries.forEach(add);
  }
  add(rest);
  return [...costs.values()].sort((one, other) => other.rowsRead - one.rowsRead);
}

function costOf(entry: string, isOurs: (applicationName: string) => boolean): StatementCost | undefined {
  const [, pool = '', tookMs, json] =
    /^(?:@@)?(.*?)@@ LOG: {2}duration: ([\d.]+) ms {2}plan:\n(.*)$/s.exec(entry) ?? [];
  if (json === undefined || !isOurs(pool)) return undefined;
  const { 'Query Text': text, Plan: root } = JSON.parse(json) as { 'Query Text': string; Plan: PlanNode };
  const scans = planNodes(root).filter(isScan);
  return {
    text: text.replace(/\s+/g, ' ').trim(),
    pool,
    runs: 1,
    rowsRead: Math.round(scans.reduce((sum, node) => sum + rowsReadBy(node), 0)),
    tookMs: Number(tookMs),
    wholeTables: [...new Set(wholeTablesOf(scans))],
  };
}

/** What a write changes is not looked at. */
const isScan = (node: PlanNode): boolean =>
  node['Relation Name'] !== undefined && !/^(Insert|Update|Delete|ModifyTable)/.test(node['Node Type']);

const worse = (known: StatementCost | undefined, cost: StatementCost): StatementCost =>
  known === undefined
    ? cost
    : {
        ...cost,
        runs: known.runs + 1,
        rowsRead: Math.max(known.rowsRead, cost.rowsRead),
        tookMs: Math.max(known.tookMs, cost.tookMs),
        wholeTables: [...new Set([...known.wholeTables, ...cost.wholeTables])],
      };

const SHOWN_LENGTH = 300;

/** The list as a table for people, the most expensive first. */
export function statementTable(costs: readonly StatementCost[]): string {
  const lines = costs.map(({ text, pool, rowsRead, tookMs }) => {
    const short = text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)} ...` : text;
    return `| ${pool} | \`${short.replaceAll('|', '\\|').replaceAll('`', "'")}\` | ${rowsRead} | ${tookMs.toFixed(1)} |`;
  });
  return ['| connections | statement | rows read | ms |', '| - | - | - | - |', ...lines, ''].join('\n');
}
