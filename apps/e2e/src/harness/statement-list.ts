import pg from 'pg';

/** Settings of a server that tells the plan of every statement, once `explained` asks for it. */
export const explainingSettings: Readonly<Record<string, string>> = {
  shared_preload_libraries: 'auto_explain',
  'auto_explain.log_min_duration': '-1',
  'auto_explain.log_analyze': 'on',
  'auto_explain.log_timing': 'off',
  'auto_explain.log_format': 'json',
  'auto_explain.log_nested_statements': 'on',
  'auto_explain.log_parameter_max_length': '0',
  logging_collector: 'on',
  log_destination: 'jsonlog',
  log_rotation_size: '0',
  shared_buffers: '256MB',
  maintenance_work_mem: '256MB',
  max_wal_size: '8GB',
  // As on a disk of today: by default pages in random order count as on a turning one.
  random_page_cost: '1.1',
};

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows'?: number;
  readonly 'Actual Loops'?: number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly Plans?: readonly PlanNode[];
}

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
    const logged = async (): Promise<number> => {
      const { rows } = await client.query<{ size: string }>(
        `SELECT size FROM pg_stat_file(pg_current_logfile('jsonlog'))`,
      );
      return Number(rows[0]?.size);
    };
    const turn = async (ms: number): Promise<void> => {
      await client.query(`ALTER SYSTEM SET auto_explain.log_min_duration = ${ms}`);
      await client.query('SELECT pg_reload_conf()');
    };
    const from = await logged();
    await turn(0);
    await work();
    await turn(-1);
    return await costsOf(textFrom(client, from, await logged()), isOurs);
  } finally {
    await client.end();
  }
}

const CHUNK_BYTES = 50_000_000;

async function* textFrom(client: pg.Client, from: number, until: number): AsyncGenerator<string> {
  for (let at = from; at < until; at += CHUNK_BYTES) {
    const text = `SELECT pg_read_binary_file(pg_current_logfile('jsonlog'), $1, $2) AS chunk`;
    const { rows } = await client.query<{ chunk: Buffer }>(text, [at, Math.min(CHUNK_BYTES, until - at)]);
    yield rows[0]?.chunk.toString('latin1') ?? '';
  }
}

async function costsOf(
  chunks: AsyncGenerator<string>,
  isOurs: (applicationName: string) => boolean,
): Promise<StatementCost[]> {
  const costs = new Map<string, StatementCost>();
  let rest = '';
  for await (const chunk of chunks) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const cost = costOf(line, isOurs);
      if (cost !== undefined)
        costs.set(`${cost.pool} ${cost.text}`, worse(costs.get(`${cost.pool} ${cost.text}`), cost));
    }
  }
  return [...costs.values()].sort((one, other) => other.rowsRead - one.rowsRead);
}

function costOf(line: string, isOurs: (applicationName: string) => boolean): StatementCost | undefined {
  const { message = '', application_name: pool = '' } = JSON.parse(line) as {
    message?: string;
    application_name?: string;
  };
  const [, tookMs, json] = /^duration: ([\d.]+) ms {2}plan:\n(.*)$/s.exec(message) ?? [];
  if (json === undefined || !isOurs(pool)) return undefined;
  const { 'Query Text': text, Plan: root } = JSON.parse(json) as { 'Query Text': string; Plan: PlanNode };
  const nodes = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodes)];
  const scans = nodes(root).filter(
    (node) => node['Relation Name'] !== undefined && !/^(Insert|Update|Delete|ModifyTable)/.test(node['Node Type']),
  );
  const whole = scans.filter((node) => node['Node Type'] === 'Seq Scan').map((node) => node['Relation Name'] ?? '');
  return {
    text: text.replace(/\s+/g, ' ').trim(),
    pool,
    runs: 1,
    rowsRead: Math.round(scans.reduce((sum, node) => sum + rowsReadBy(node), 0)),
    tookMs: Number(tookMs),
    wholeTables: [...new Set(whole)],
  };
}

function rowsReadBy(node: PlanNode): number {
  const { 'Actual Rows': rows = 0, 'Actual Loops': loops = 0 } = node;
  const removed = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
  return (rows + removed) * loops;
}

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
