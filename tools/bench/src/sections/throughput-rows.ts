import type { BenchContext, ReleaseStack } from '../bench-context.ts';
import { batchBody, batchRecords, recordBody, warmUpRequests } from '../bodies.ts';
import { makeSender, type Sender } from '../gateway/gateway-admin.ts';
import type { Gateway } from '../gateway/gateway-process.ts';
import { prepareSite, type GatewaySite } from '../gateway/gateway-site.ts';
import type { Destination, LoadResult } from '../load/load-plan.ts';
import type { WatchedProcess } from '../proc-usage.ts';
import { startEchoServer, type EchoName } from '../servers/echo-server.ts';

/** One line of the table: a server and its request. */
export interface Row {
  readonly name: string;
  readonly kind: 'node' | 'express' | 'packages' | 'single' | 'batch' | 'spread';
  /** Connections are spread over them in turn. */
  readonly destinations: readonly Destination[];
  /** Default: the number of the run. */
  readonly connections?: number;
  readonly body: string;
  /** 0 where nothing is stored. */
  readonly recordsPerRequest: number;
  readonly warmUpRequests: number;
  /** `server` is compared; the others are its dependencies. */
  readonly watch: readonly WatchedProcess[];
  /** Where to count the written records. */
  readonly kept?: { readonly site: GatewaySite; readonly channels: readonly string[] };
  /** Every round, warm-up rounds first. */
  readonly warmUps: LoadResult[];
  readonly rounds: LoadResult[];
}

const echoes: readonly { name: string; kind: Row['kind']; program: EchoName }[] = [
  { name: 'node:http echo', kind: 'node', program: 'node-echo' },
  { name: 'Express 5 echo', kind: 'express', program: 'express-echo' },
  { name: 'Express 5 + five packages, no work', kind: 'packages', program: 'express-packages' },
];

/** The yardsticks, then the gateway with Redis where available, and without. */
export async function startRows(context: BenchContext, stack: ReleaseStack): Promise<Row[]> {
  const rows: Row[] = [];
  for (const echo of echoes) rows.push(await echoRow(context, stack, echo));
  if (context.redis !== undefined) rows.push(...(await gatewayRows(context, stack, context.redis)));
  rows.push(...(await gatewayRows(context, stack, undefined)));
  return rows;
}

async function echoRow(
  context: BenchContext,
  stack: ReleaseStack,
  { name, kind, program }: (typeof echoes)[number],
): Promise<Row> {
  const server = await startEchoServer(program, `${context.folder}/${program}.log`);
  stack.own(name, () => server.stop());
  const headers = { 'Content-Type': 'application/json', 'X-Api-Key': `ingest_${'A'.repeat(43)}` };
  return {
    ...{ name, kind, body: recordBody(), recordsPerRequest: 0 },
    destinations: [{ port: server.port, path: '/bench', headers }],
    watch: [{ name: 'server', pid: server.pid }],
    ...{ warmUpRequests: warmUpRequests.single, ...fresh() },
  };
}

const manyConnections = 256;
const channels = 4;

/**
 * Single records under other shapes of load, beside Express: many connections, several channels (whose heads are locked
 * separately), and two replicas on one database. With Redis where available.
 */
export async function startSpreadRows(context: BenchContext, stack: ReleaseStack): Promise<Row[]> {
  const express = await echoRow(
    context,
    stack,
    echoes.find(({ kind }) => kind === 'express')!,
  );
  const site = await prepareSite(context, { name: 'spread', redisUrl: context.redis?.url, stack });
  const gateways = [await site.start(), await site.start()];
  const [gateway] = gateways;
  const senders: Sender[] = [];
  for (let number = 1; number <= 3 + channels; number += 1)
    senders.push(await makeSender({ site, gateway: gateway! }, `spread-${number}`));
  const row = (name: string, to: readonly Sender[], on: readonly Gateway[], connections?: number): Row => ({
    ...{ name, kind: 'spread', body: recordBody(), recordsPerRequest: 1, warmUpRequests: warmUpRequests.single },
    destinations: to.flatMap(({ path, headers }) => on.map(({ port }) => ({ port, path, headers }))),
    ...(connections === undefined ? {} : { connections }),
    watch: [...on.map(({ pid }) => ({ name: 'server', pid })), ...storesOf(context, context.redis)],
    ...fresh(),
    kept: { site, channels: to.map(({ channel }) => channel) },
  });
  const [one, many, shared, ...apart] = senders;
  return [
    express,
    { ...express, name: `Express 5 echo, ${manyConnections} connections`, connections: manyConnections, ...fresh() },
    row('gateway', [one!], [gateway!]),
    row(`gateway, ${manyConnections} connections`, [many!], [gateway!], manyConnections),
    row(`gateway, ${channels} channels at once`, apart, [gateway!]),
    row('two replicas of the gateway, one channel', [shared!], gateways),
  ];
}

const fresh = (): Pick<Row, 'warmUps' | 'rounds'> => ({ warmUps: [], rounds: [] });

function storesOf({ postgres }: BenchContext, redis: BenchContext['redis']): WatchedProcess[] {
  return [
    { name: 'postgres', pid: postgres.pid, family: true },
    ...(redis === undefined ? [] : [{ name: 'redis', pid: redis.pid }]),
  ];
}

/** Both rows of one gateway. Each has a channel of its own, so that its records can be counted. */
async function gatewayRows(context: BenchContext, stack: ReleaseStack, redis: BenchContext['redis']): Promise<Row[]> {
  const name = redis === undefined ? 'without' : 'with';
  const site = await prepareSite(context, { name: `${name}_redis`, redisUrl: redis?.url, stack });
  const gateway = await site.start();
  const watch: WatchedProcess[] = [{ name: 'server', pid: gateway.pid }, ...storesOf(context, redis)];
  const row = (
    sender: Sender,
    more: Pick<Row, 'name' | 'kind' | 'body' | 'recordsPerRequest' | 'warmUpRequests'>,
  ): Row => ({
    ...more,
    destinations: [{ port: gateway.port, path: sender.path, headers: sender.headers }],
    ...{ watch, ...fresh() },
    kept: { site, channels: [sender.channel] },
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
