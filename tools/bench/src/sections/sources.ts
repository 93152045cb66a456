import { createHmac, randomBytes } from 'node:crypto';
import { releaseStack, type BenchContext } from '../bench-context.ts';
import { recordBody, warmUpRequests } from '../bodies.ts';
import { askAdmin, countRecords, makeSender, type Sender } from '../gateway/gateway-admin.ts';
import type { Gateway } from '../gateway/gateway-process.ts';
import { prepareSite, type GatewaySite } from '../gateway/gateway-site.ts';
import type { LoadResult } from '../load/load-plan.ts';
import { median } from '../median.ts';
import type { WatchedProcess } from '../proc-usage.ts';
import type { SectionReport } from '../report.ts';
import { startEchoServer } from '../servers/echo-server.ts';
import type { Finding } from '../targets.ts';
import { decimals, wholeNumber, type Column } from '../text-table.ts';
import { runRounds, warmUpRows, type LoadedRow, type Pace } from './run-rows.ts';
import { summarise, whyWithheld, type RowSummary } from './summarise-row.ts';
import { quietness } from './throughput-report.ts';

interface SourceRow extends LoadedRow {
  readonly destinations: readonly Sender[];
  readonly port: number;
  readonly watch: readonly WatchedProcess[];
  readonly connectionsPerKey: number;
  readonly sendsKey: boolean;
  /** What is counted: answers of 200, or refusals. */
  readonly counts: 'written' | 'refused';
  /** Records per answer of 200: one for each, or one for each two. */
  readonly answersPerRecord: number;
}

const forgers = 64;
const secret = 'the-secret-of-the-benchmark';
const signature = (body: string): string => `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;

/** Deliveries signed as GitHub does, beside single records of the same size with a key, on one gateway. */
export async function sourcesSection(context: BenchContext): Promise<SectionReport> {
  const stack = releaseStack();
  context.stack.own('the servers of the sources', async () => void (await stack.releaseAll()));
  context.tell('Starting the servers of the sources');
  const echo = await startEchoServer('express-echo', `${context.folder}/sources-echo.log`);
  stack.own('the echo', () => echo.stop());
  const site = await prepareSite(context, { name: 'sources', redisUrl: context.redis?.url, stack });
  const gateway = await site.start();
  const watch: WatchedProcess[] = [
    { name: 'server', pid: gateway.pid },
    { name: 'postgres', pid: context.postgres.pid, family: true },
    ...(context.redis === undefined ? [] : [{ name: 'redis', pid: context.redis.pid }]),
  ];
  const of = { site, gateway };
  const source = (networkId: string) => makeSource(of, networkId);
  const row = (name: string, destinations: readonly Sender[], more: Partial<SourceRow> = {}): SourceRow => ({
    ...{ name, destinations, watch, port: gateway.port, connectionsPerKey: 1, sendsKey: false, counts: 'written' },
    ...{ answersPerRecord: 1, warmUpRequests: warmUpRequests.single / 4, warmUps: [], rounds: [] },
    ...more,
  });
  const forged = async (networkId: string) => forge(await source(networkId));
  const headers = { 'Content-Type': 'application/json' };
  const plain = { networkId: '', channel: '', path: '/bench', headers };
  const rows = [
    row('Express 5 echo', [plain], { port: echo.port, watch: [{ name: 'server', pid: echo.pid }], sendsKey: true }),
    row('single records with a key', [await makeSender(of, 'keyed')], { sendsKey: true }),
    row('signed deliveries, each once', [await source('once')]),
    row('signed deliveries, each twice at once', [await source('twice')], {
      connectionsPerKey: 2,
      answersPerRecord: 2,
    }),
    row('forged deliveries to one source', [await forged('forged')], { counts: 'refused' }),
    row(
      `forged deliveries to ${forgers} sources`,
      await Promise.all(Array.from({ length: forgers }, (_, n) => forged(`forged-${n}`))),
      { counts: 'refused' },
    ),
  ];
  const run = (one: SourceRow, pace: Pace): Promise<LoadResult> => runRow(context, one, pace);
  await warmUpRows(context, rows, run);
  await runRounds(context, rows, run);
  const withheld = await reasons(context, site, rows);
  await stack.releaseAll();
  return reportOf(context, rows, withheld);
}

async function runRow({ generator, options }: BenchContext, row: SourceRow, pace: Pace): Promise<LoadResult> {
  const { destinations, port, watch, connectionsPerKey, sendsKey, counts } = row;
  const to = destinations.map(({ path, headers }) => ({ port, path, headers }));
  const result = await generator.run({
    ...{ ...to[0]!, destinations: to, connections: options.connections, body: recordBody(), watch },
    ...{ connectionsPerKey, sendsKey, keyPrefix: `bench-${randomBytes(6).toString('hex')}` },
    ...pace,
  });
  if (counts === 'written') return result;
  // Forged deliveries must be answered 401 or 429; those are counted, any other answer is not.
  const { 401: unsigned = 0, 429: flooded = 0, ...refused } = result.refused;
  const answered = unsigned + flooded;
  return {
    ...result,
    measured: answered,
    succeeded: 0,
    refused: { ...refused, ...(result.succeeded > 0 ? { 200: result.succeeded } : {}) },
  };
}

async function makeSource(of: { site: GatewaySite; gateway: Gateway }, networkId: string): Promise<Sender> {
  const limits = { ratePerSecond: 1_000_000, burst: 1_000_000 };
  await askAdmin(of, { method: 'POST', path: '/networks', body: { networkId, limits }, expect: 201 });
  const body = { name: 'bench', scheme: 'github', secrets: [{ id: 'k1', value: secret }], limits };
  const path = `/networks/${networkId}/sources`;
  const made: { path: string } = JSON.parse(await askAdmin(of, { method: 'POST', path, body, expect: 201 }));
  const headers = {
    'Content-Type': 'application/json',
    'X-GitHub-Event': 'push',
    'X-GitHub-Delivery': '{key}',
    'X-Hub-Signature-256': signature(recordBody()),
  };
  return { networkId, channel: `${networkId}.main`, path: made.path, headers };
}

const forge = (sender: Sender): Sender => ({
  ...sender,
  headers: { ...sender.headers, 'X-Hub-Signature-256': signature('another body') },
});

/** As for every table; deliveries that are sent twice count as one record. */
async function reasons({ machine }: BenchContext, site: GatewaySite, rows: readonly SourceRow[]): Promise<string[]> {
  const ledgered = [];
  for (const row of rows.filter(({ watch }) => watch.length > 1)) {
    const { acknowledged } = summaryOf(row);
    const inLedger = await countRecords(site, ...row.destinations.map(({ channel }) => channel));
    const { name, answersPerRecord, counts } = row;
    const expected = counts === 'refused' ? 0 : acknowledged / answersPerRecord;
    // Of two connections that send the same, one may be ahead by a request when the round ends.
    const isWithin = answersPerRecord === 1 || Math.abs(inLedger - expected) <= expected * 0.01 + forgers * 20;
    ledgered.push({
      name,
      acknowledged: isWithin && answersPerRecord > 1 ? inLedger : expected,
      inLedger,
      settings: site.settings,
    });
  }
  return whyWithheld({ rows: rows.map(summaryOf), ledgered, machine });
}

const summaryOf = ({ name, warmUps, rounds }: SourceRow): RowSummary =>
  summarise({ name, kind: 'single', recordsPerRequest: 1, warmUps, rounds }, undefined);

const columns: readonly Column[] = [
  { name: 'server' },
  ...['requests/s', 'p50 ms', 'p99 ms', 'CPU us', 'PostgreSQL us', 'Redis us'].map((name) => ({ name, right: true })),
];

function reportOf(context: BenchContext, rows: readonly SourceRow[], withheld: readonly string[]): SectionReport {
  const { connections, rounds, roundMs } = context.options;
  const summaries = rows.map(summaryOf);
  const [express, keyed, once, twice, ...forged] = summaries;
  const isTold = withheld.length === 0;
  const rate = (one: RowSummary, beside: RowSummary) =>
    isTold ? one.requestsPerSecond / beside.requestsPerSecond : undefined;
  const findings: Finding[] = [
    { target: 'deliveryCpu', value: isTold ? cpuOf(once!) / cpuOf(keyed!) : undefined },
    { target: 'deliveriesTwice', value: rate(twice!, keyed!) },
    ...forged.map((one) => ({ target: 'forgedOfExpress' as const, value: rate(one, express!), of: one.name })),
  ];
  return {
    title: 'Sources',
    tables: [
      {
        columns,
        rows: summaries.map((one) => [
          one.name,
          wholeNumber(one.requestsPerSecond),
          ...[one.p50Ms, one.p99Ms].map((value) => decimals(value, 2)),
          ...[one.serverUs, one.postgresUs, one.redisUs].map((value) => decimals(value, 1)),
        ]),
      },
    ],
    notes: [
      `Medians of ${rounds} rounds of ${roundMs / 1000} s each, ${connections} connections. Bodies have 255 bytes. Each delivery has a new id, or one that two connections send concurrently; it is signed as GitHub does.`,
      `The signatures of 50 forged deliveries per second and source are checked; more are refused unread.`,
      quietness(summaries),
    ],
    findings,
    withheld,
    measured: { summaries, median: median(summaries.map(({ p50Ms }) => p50Ms)) },
  };
}

/** CPU time of every process for one request; unreported values count as zero. */
const cpuOf = ({ serverUs, postgresUs, redisUs }: RowSummary): number =>
  [serverUs, postgresUs, redisUs].reduce((sum, us) => sum + (Number.isNaN(us) ? 0 : us), 0);
