import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { openRedis, type RedisHandle } from '@sealgate/storage';
import { describeWithRedis, until } from '@sealgate/testing';
import { Redis } from 'ioredis';
import type { Charge, LeasingStore } from './limits.ts';
import { redisLimits } from './redis-limits.ts';

const PASSWORD = 'p@ss/word';
const folder = mkdtempSync(join(tmpdir(), 'sealgate-redis-sites-'));
const children: ChildProcess[] = [];
const admins: Redis[] = [];
const handles: RedisHandle[] = [];

afterEach(async () => {
  await Promise.all(handles.splice(0).map((handle) => handle.close()));
});
afterAll(async () => {
  for (const admin of admins) admin.disconnect();
  for (const child of children) {
    const ended = new Promise((done) => child.once('exit', done));
    if (child.exitCode === null && child.signalCode === null && child.kill('SIGKILL')) await ended;
  }
  rmSync(folder, { recursive: true, force: true });
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}

interface Node {
  readonly port: number;
  readonly child: ChildProcess;
  readonly admin: Redis;
}

/** A redis-server with its own configuration file, which it may rewrite. */
async function startNode(port: number, lines: readonly string[], mode: readonly string[] = []): Promise<Node> {
  const directory = mkdtempSync(join(folder, 'node-'));
  const file = join(directory, 'redis.conf');
  const common = ['bind 127.0.0.1', `dir ${directory}`, `port ${port}`];
  writeFileSync(file, [...common, ...lines, ''].join('\n'));
  const child = spawn('redis-server', [file, ...mode], { stdio: 'ignore' });
  children.push(child);
  const isSentinel = mode.length > 0;
  const admin = new Redis({
    port,
    host: '127.0.0.1',
    ...(isSentinel ? {} : { password: PASSWORD }),
    retryStrategy: () => 50,
  });
  admin.on('error', () => undefined);
  admins.push(admin);
  await until(
    () =>
      admin.ping().then(
        () => true,
        () => false,
      ),
    { timeoutMs: 20_000, what: `redis on ${port}` },
  );
  return { port, child, admin };
}
const server = ['save ""', 'appendonly no', `requirepass "${PASSWORD}"`, `masterauth "${PASSWORD}"`];

function open(url: string, timeoutMs = 2_000): { handle: RedisHandle; limits: LeasingStore } {
  const handle = openRedis({ url, name: 'sites-test', connectTimeoutMs: 1_000, commandTimeoutMs: 1_000 });
  handles.push(handle);
  return { handle, limits: redisLimits({ client: handle.client, prefix: 'ingest:', timeoutMs }) };
}
const ready = (handle: RedisHandle) => until(() => handle.state === 'ready', { timeoutMs: 20_000, what: 'a Redis' });
const network = (id: number): Charge => ({
  bucket: `network:n${id}`,
  policy: { name: 'network', ratePerSecond: 1, burst: 100 },
});
const key = (id: number): Charge => ({ bucket: `key:k${id}`, policy: { name: 'key', ratePerSecond: 1, burst: 60 } });
const user = `:${encodeURIComponent(PASSWORD)}@`;

describeWithRedis('limits on a cluster of three', () => {
  const slots = [
    [0, 5460],
    [5461, 10_922],
    [10_923, 16_383],
  ] as const;
  let nodes: Node[];
  let url: string;
  beforeAll(async () => {
    nodes = [];
    const buses: number[] = [];
    for (const [first, last] of slots) {
      const [port, bus] = [await freePort(), await freePort()];
      const node = await startNode(port, [...server, 'cluster-enabled yes', `cluster-port ${bus}`]);
      await node.admin.call('CLUSTER', 'ADDSLOTSRANGE', first, last);
      nodes.push(node);
      buses.push(bus);
    }
    for (const [place, { port }] of nodes.entries())
      if (place > 0) await nodes[0]!.admin.call('CLUSTER', 'MEET', '127.0.0.1', port, buses[place]!);
    const isWhole = async ({ admin }: Node) => {
      const info = String(await admin.call('CLUSTER', 'INFO'));
      return info.includes('cluster_state:ok') && info.includes('cluster_known_nodes:3');
    };
    await until(async () => (await Promise.all(nodes.map(isWhole))).every(Boolean), {
      timeoutMs: 60_000,
      what: 'a cluster',
    });
    // One node is enough to discover the others.
    url = `redis-cluster://${user}127.0.0.1:${nodes[0]!.port},127.0.0.1:1`;
  }, 120_000);

  it('charge both buckets of a request on one node, and many requests of one tick', async () => {
    const { handle, limits } = open(url);
    await ready(handle);
    const states = await Promise.all(Array.from({ length: 60 }, (_, n) => limits.charge([network(n), key(n)], 60)));
    expect(states.every(({ admitted }) => admitted)).toBe(true);
    const again = await Promise.all(Array.from({ length: 60 }, (_, n) => limits.charge([network(n), key(n)], 1)));
    expect(again.map(({ admitted, policy }) => [admitted, policy.name])).toEqual(again.map(() => [false, 'key']));
    const held = await Promise.all(nodes.map(({ admin }) => admin.keys('ingest:{network:n*')));
    expect(held.map((keys) => keys.length > 0)).toEqual([true, true, true]);
    expect(held.flat()).toHaveLength(120);
  });

  it('are shared by processes', async () => {
    const [one, two] = [open(url), open(url)];
    await Promise.all([ready(one.handle), ready(two.handle)]);
    expect(await one.limits.charge([network(1001), key(1001)], 60)).toMatchObject({ admitted: true });
    expect(await two.limits.charge([network(1001), key(1001)], 60)).toMatchObject({ admitted: false });
    expect(await two.limits.charge([network(1001), key(1002)], 40)).toMatchObject({ admitted: true });
    expect(await one.limits.charge([network(1001), key(1003)], 1)).toMatchObject({ admitted: false });
  });

  it('are leased in the hash slot of their bucket', async () => {
    const { handle, limits } = open(url);
    await ready(handle);
    const wide = { ratePerSecond: 1000, burst: 2000 };
    const pairs = Array.from({ length: 6 }, (_, n): Charge[] => [
      { bucket: `network:l${n}`, policy: { name: 'network', ...wide } },
      { bucket: `key:l${n}`, policy: { name: 'key', ...wide } },
    ]);
    for (const pair of pairs) {
      await until(
        async () => {
          for (let n = 0; n < 12; n += 1) {
            if (limits.takeLeased(pair, 1) !== undefined) return true;
            await limits.charge(pair, 1);
          }
          return false;
        },
        { timeoutMs: 10_000, what: 'a lease' },
      );
    }
    const held = await Promise.all(nodes.map(({ admin }) => admin.keys('ingest:{network:l*leases')));
    expect(held.flat()).toHaveLength(12);
    expect(held.filter((keys) => keys.length > 0).length).toBeGreaterThan(1);
  });

  it('are probed at the node where a charge failed, which other nodes cannot answer for', async () => {
    const { handle, limits } = open(url, 300);
    await ready(handle);
    const slotOf = async (tag: string) => Number(await nodes[0]!.admin.cluster('KEYSLOT', `{${tag}}`));
    const nodeOf = (slot: number) => slots.findIndex(([, last]) => slot <= last);
    const usual = nodeOf(await slotOf('probe'));
    let id = 0;
    while (nodeOf(await slotOf(network(id).bucket)) === usual) id += 1;
    const { child } = nodes[nodeOf(await slotOf(network(id).bucket))]!;
    child.kill('SIGSTOP');
    try {
      await limits.probe();
      await expect(limits.charge([network(id)], 1)).rejects.toThrow();
      await expect(limits.probe()).rejects.toThrow();
    } finally {
      child.kill('SIGCONT');
    }
    await until(() => limits.probe().then(() => true), { what: 'a probe' });
    expect(await limits.charge([network(id)], 1)).toMatchObject({ admitted: true });
  }, 60_000);

  it('reject in bounded time while the cluster is incomplete', async () => {
    const { handle, limits } = open(url);
    await ready(handle);
    await limits.charge([network(1)], 0);
    for (const { child } of nodes) child.kill('SIGSTOP');
    const startedAt = performance.now();
    await expect(limits.charge([network(2)], 1)).rejects.toThrow();
    expect(performance.now() - startedAt).toBeLessThan(3_000);
    for (const { child } of nodes) child.kill('SIGCONT');
    await until(
      () =>
        limits.charge([network(3)], 1).then(
          () => true,
          () => false,
        ),
      { timeoutMs: 20_000, what: 'the cluster' },
    );
  }, 60_000);
});

describeWithRedis('limits on a primary named by sentinels', () => {
  let primary: Node;
  let replica: Node;
  let sentinels: Node[];
  beforeAll(async () => {
    primary = await startNode(await freePort(), server);
    replica = await startNode(await freePort(), [...server, `replicaof 127.0.0.1 ${primary.port}`]);
    const watched = [
      `sentinel monitor main 127.0.0.1 ${primary.port} 1`,
      `sentinel auth-pass main ${PASSWORD}`,
      'sentinel down-after-milliseconds main 500',
      'sentinel failover-timeout main 2000',
    ];
    sentinels = [];
    // Three, as in production: two that begin an election at once vote for themselves, again and again.
    for (let n = 0; n < 3; n += 1) sentinels.push(await startNode(await freePort(), watched, ['--sentinel']));
    const knows = async ({ admin }: Node) =>
      ((await admin.call('SENTINEL', 'REPLICAS', 'main')) as unknown[]).length > 0;
    await until(async () => (await Promise.all(sentinels.map(knows))).every(Boolean), {
      timeoutMs: 30_000,
      what: 'a replica',
    });
  }, 120_000);

  it('continue on the promoted replica', async () => {
    const list = sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',');
    const { handle, limits } = open(`redis+sentinel://${user}${list}/main/0`);
    await ready(handle);
    expect(await limits.charge([key(1)], 60)).toMatchObject({ admitted: true });
    expect(await limits.charge([key(1)], 60)).toMatchObject({ admitted: false });
    await primary.admin.call('WAIT', 1, 5_000);
    primary.child.kill('SIGKILL');
    await until(() => handle.state === 'away', { timeoutMs: 5_000, what: 'the loss' });
    await until(
      () =>
        limits.charge([key(2)], 1).then(
          ({ admitted }) => admitted,
          () => false,
        ),
      { timeoutMs: 30_000, what: 'the replica' },
    );
    expect(await replica.admin.role()).toEqual(expect.arrayContaining(['master']));
    // Earlier charges still count: they were replicated.
    expect(await limits.charge([key(1)], 60)).toMatchObject({ admitted: false });
  }, 60_000);
});
