import { batchBody, batchRecords, recordBody, warmUpRequests } from '../bodies.ts';
import { makeSender, type Sender } from '../gateway/gateway-admin.ts';
import { prepareSite, type GatewaySite } from '../gateway/gateway-site.ts';
import type { BenchContext } from '../bench-context.ts';
import type { LoadResult } from '../load/load-plan.ts';
import type { WatchedProcess } from '../proc-usage.ts';
import type { ReleaseStack } from '../release-stack.ts';
import { startEchoServer, type EchoName } from '../servers/echo-server.ts';

/** One line of the table: a server, and the request it is sent. */
export interface Row {
  readonly name: string;
  readonly kind: 'node' | 'express' | 'packages' | 'single' | 'batch';
  readonly port: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** 0 where nothing is kept. */
  readonly recordsPerRequest: number;
  readonly warmUpRequests: number;
  /** `server` is the one that is compared; the others are what it needs. */
  readonly watch: readonly WatchedProcess[];
  /** Where to count what was written. */
  readonly kept?: { readonly site: GatewaySite; readonly channel: string };
  /** Every round that was run, those to warm up first. */
  readonly warmUps: LoadResult[];
  readonly rounds: LoadResult[];
}

const echoes: readonly { name: string; kind: Row['kind']; program: EchoName }[] = [
  { name: 'node:http echo', kind: 'node', program: 'node-echo' },
  { name: 'Express 5 echo', kind: 'express', program: 'express-echo' },
  { name: 'Express 5 + five packages, no work', kind: 'packages', program: 'express-packages' },
];

export async function startRows(context: BenchContext, stack: ReleaseStack): Promise<Row[]> {
  const rows: Row[] = [];
  for (const { name, kind, program } of echoes) {
    const server = await startEchoServer(program, `${context.folder}/${program}.log`);
    stack.own(name, () => server.stop());
    rows.push({
      ...{ name, kind, port: server.port, path: '/bench', body: recordBody(), recordsPerRequest: 0 },
      headers: { 'Content-Type': 'application/json', 'X-Api-Key': `ingest_${'A'.repeat(43)}` },
      watch: [{ name: 'server', pid: server.pid }],
      warmUpRequests: warmUpRequests.single,
      warmUps: [],
      rounds: [],
    });
  }
  if (context.redis !== undefined) rows.push(...(await gatewayRows(context, stack, context.redis)));
  rows.push(...(await gatewayRows(context, stack, undefined)));
  return rows;
}

/** Both rows of one gateway. Each has a channel of its own, so that what it wrote can be counted. */
async function gatewayRows(context: BenchContext, stack: ReleaseStack, redis: BenchContext['redis']): Promise<Row[]> {
  const name = redis === undefined ? 'without' : 'with';
  const site = await prepareSite(context, { name: `${name}_redis`, redisUrl: redis?.url, stack });
  const gateway = await site.start();
  const watch: WatchedProcess[] = [
    { name: 'server', pid: gateway.pid },
    { name: 'postgres', pid: context.postgres.pid, family: true },
    ...(redis === undefined ? [] : [{ name: 'redis', pid: redis.pid }]),
  ];
  const row = (
    sender: Sender,
    more: Pick<Row, 'name' | 'kind' | 'body' | 'recordsPerRequest' | 'warmUpRequests'>,
  ): Row => ({
    ...more,
    ...{ port: gateway.port, path: sender.path, headers: sender.headers, watch, warmUps: [], rounds: [] },
    kept: { site, channel: sender.channel },
  });
  const singles = await makeSender({ site, gateway }, `single-${name}-redis`);
  const batches = await makeSender({ site, gateway }, `batch-${name}-redis`);
  return [
    row(singles, {
      ...{ name: `gateway, single records, ${name} Redis`, kind: 'single' },
      ...{ body: recordBody(), recordsPerRequest: 1, warmUpRequests: warmUpRequests.single },
    }),
    row(batches, {
      ...{ name: `gateway, batches of ${batchRecords}, ${name} Redis`, kind: 'batch' },
      ...{ body: batchBody(batchRecords), recordsPerRequest: batchRecords, warmUpRequests: warmUpRequests.batch },
    }),
  ];
}
