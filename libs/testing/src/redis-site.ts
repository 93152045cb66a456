import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@sealgate/local-services';
import { certificateAuthority } from './fabric/certificates.ts';
import { startRedisNode, type RedisNode, type TlsFiles } from './redis-node.ts';
import { SENTINEL_USER, type RedisForm } from './redis-rules.ts';
import { until } from './until.ts';

/** Rules of users, each the arguments of `ACL SETUSER`: `name reset on >PASSWORD ~keys:* -@all +get`. */
interface RedisRules {
  readonly servers: readonly string[];
  readonly sentinels?: readonly string[];
}

/** Real servers that speak only TLS, with a certificate of an authority of their own, and want one of their clients. */
export interface RedisSite {
  /** The REDIS_URL of a user, with a client certificate, and with these parameters; undefined leaves one out. */
  url(user: string, parameters?: Readonly<Record<string, string | undefined>>): string;
  /** PEM file of the authority. */
  readonly caFile: string;
  /** All servers, the primary that `failOver` kills first. */
  readonly servers: readonly RedisNode[];
  readonly sentinels: readonly RedisNode[];
  /** Whether the key is on the primary that `failOver` kills. */
  willFailOver(key: string): Promise<boolean>;
  /** Kills a primary, and a sentinel; resolves once another has its place (a single server: once it was restarted). */
  failOver(): Promise<void>;
  /** Changes a user on all servers, or sentinels, that were not killed. */
  setUser(rule: string, where?: 'servers' | 'sentinels'): Promise<void>;
  /** What was refused since the start: the entries of ACL LOG, as `user reason object`. */
  refusals(): Promise<string[]>;
  stop(): Promise<void>;
}

const FAIL_OVER_TIMEOUT_MS = 60_000;
/** Of all users but `default`, and with characters that a URL must escape. */
const PASSWORD = 'p@ss/word%';
const ADMIN_PASSWORD = 'of-the-site';

/** What makes nodes: their common configuration, and their processes for the end. */
interface Ground {
  readonly folder: string;
  readonly tls: TlsFiles;
  readonly lines: readonly string[];
  readonly nodes: RedisNode[];
  readonly rules: RedisRules;
}

/** Starts the servers of a form. Needs a redis-server with TLS: use `describeWithRedis`. */
export async function redisSite(form: RedisForm, rules: RedisRules): Promise<RedisSite> {
  const folder = mkdtempSync(join(tmpdir(), `sealgate-redis-${form}-`));
  const authority = certificateAuthority('Redis');
  const [server, client] = [authority.issue('redis', { loopback: true }), authority.issue('client')];
  const files = {
    ca: authority.cert,
    'server.crt': server.cert,
    'server.key': server.key,
    'client.crt': client.cert,
    'client.key': client.key,
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text, { mode: 0o600 });
  const at = (name: string) => join(folder, name);
  const lines = [
    `tls-cert-file ${at('server.crt')}`,
    `tls-key-file ${at('server.key')}`,
    `tls-ca-cert-file ${at('ca')}`,
    'tls-replication yes',
    'tls-auth-clients yes',
  ];
  const ground: Ground = { folder, tls: { ca: authority.cert, ...client }, lines, nodes: [], rules };
  const stop = async (): Promise<void> => {
    await Promise.all(ground.nodes.map((node) => node.stop()));
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const { servers, sentinels, scheme, path, failOver } = await FORMS[form](ground);
    const listed = (sentinels.length > 0 ? sentinels : servers).map(({ port }) => `127.0.0.1:${port}`);
    const ofSentinels = { sentinelUsername: SENTINEL_USER, sentinelPassword: PASSWORD };
    const usual = { certFile: at('client.crt'), keyFile: at('client.key'), ...(sentinels.length > 0 && ofSentinels) };
    return {
      servers,
      sentinels,
      caFile: at('ca'),
      url(user, parameters = {}) {
        const all = Object.entries<string | undefined>({ ...usual, ...parameters });
        const given = all.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]));
        const hosts = form === 'single' ? listed[0]! : listed.join(',');
        return `${scheme}://${user}:${encodeURIComponent(PASSWORD)}@${hosts}${path}?${String(new URLSearchParams(Object.fromEntries(given) as Record<string, string>))}`;
      },
      async willFailOver(key) {
        if (form !== 'cluster') return true;
        const slot = Number(await servers.at(-1)!.admin.cluster('KEYSLOT', key));
        const [from, to] = SLOTS[0]!;
        return slot >= from && slot <= to;
      },
      failOver,
      async setUser(rule, where = 'servers') {
        const nodes = (where === 'servers' ? servers : sentinels).filter(({ admin }) => admin.status === 'ready');
        await Promise.all(nodes.map(({ admin }) => admin.call('ACL', 'SETUSER', ...wordsOf(rule))));
      },
      async refusals() {
        const logs = await Promise.all([...servers, ...sentinels].map(({ admin }) => entriesOf(admin)));
        return logs.flat();
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

const wordsOf = (rule: string): string[] => rule.replaceAll('PASSWORD', PASSWORD).split(/\s+/);

/** A server that was killed has no log any more. */
async function entriesOf(admin: RedisNode['admin']): Promise<string[]> {
  if (admin.status !== 'ready') return [];
  const entries = (await admin.call('ACL', 'LOG')) as unknown[];
  return entries.map((entry) => {
    const members = Array.isArray(entry) ? pairsOf(entry) : (entry as Readonly<Record<string, unknown>>);
    return `${String(members['username'])} ${String(members['reason'])} ${String(members['object'])}`;
  });
}

const pairsOf = (flat: readonly unknown[]): Readonly<Record<string, unknown>> =>
  Object.fromEntries(flat.flatMap((name, place) => (place % 2 === 0 ? [[String(name), flat[place + 1]]] : [])));

interface Formed {
  readonly servers: RedisNode[];
  readonly sentinels: RedisNode[];
  readonly scheme: string;
  readonly path: string;
  failOver(): Promise<void>;
}

const FORMS: Readonly<Record<RedisForm, (ground: Ground) => Promise<Formed>>> = {
  async single(ground) {
    const server = await startServer(ground);
    const failOver = async () => {
      await server.kill();
      await server.restart();
    };
    return { servers: [server], sentinels: [], scheme: 'rediss', path: '/0', failOver };
  },
  async sentinel(ground) {
    const primary = await startServer(ground);
    const replica = await startServer(ground, [`replicaof 127.0.0.1 ${primary.port}`]);
    const watch = [
      `sentinel monitor main 127.0.0.1 ${primary.port} 2`,
      `sentinel auth-pass main ${ADMIN_PASSWORD}`,
      `sentinel sentinel-pass ${ADMIN_PASSWORD}`,
      'sentinel down-after-milliseconds main 1000',
      'sentinel failover-timeout main 3000',
    ];
    const sentinels: RedisNode[] = [];
    // Three, as in production: two that begin an election at once vote for themselves, again and again.
    for (let n = 0; n < 3; n += 1) sentinels.push(await startNode(ground, watch, ground.rules.sentinels ?? []));
    const knowsAll = async ({ admin }: RedisNode): Promise<boolean> => {
      const [replicas, others] = await Promise.all(
        ['REPLICAS', 'SENTINELS'].map((what) => admin.call('SENTINEL', what, 'main') as Promise<unknown[]>),
      );
      return replicas!.length === 1 && others!.length === 2;
    };
    await eventually(async () => (await Promise.all(sentinels.map(knowsAll))).every(Boolean), 'sentinels');
    // A machine is lost, with the sentinel on it.
    const failOver = async () => {
      await Promise.all([primary.kill(), sentinels[0]!.kill()]);
      await eventually(() => isPrimary(replica), 'the replica as primary');
    };
    return { servers: [primary, replica], sentinels, scheme: 'rediss+sentinel', path: '/main/0', failOver };
  },
  async cluster(ground) {
    const servers: RedisNode[] = [];
    const buses: number[] = [];
    for (let n = 0; n < 4; n += 1) {
      const bus = await freePort();
      const cluster = ['cluster-enabled yes', `cluster-port ${bus}`, 'tls-cluster yes', 'cluster-node-timeout 2000'];
      servers.push(await startServer(ground, cluster));
      buses.push(bus);
    }
    const [first, , , replica] = servers as [RedisNode, RedisNode, RedisNode, RedisNode];
    for (const [place, [from, to]] of SLOTS.entries()) await servers[place]!.admin.cluster('ADDSLOTSRANGE', from, to);
    for (const [place, { port }] of servers.entries())
      if (place > 0) await first.admin.call('CLUSTER', 'MEET', '127.0.0.1', port, buses[place]!);
    const isWhole = async (nodes: readonly RedisNode[]): Promise<boolean> => {
      const infos = await Promise.all(nodes.map(({ admin }) => admin.cluster('INFO')));
      return infos.every((info) => info.includes('cluster_state:ok') && info.includes('cluster_known_nodes:4'));
    };
    await eventually(() => isWhole(servers), 'a cluster');
    await replica.admin.cluster('REPLICATE', String(await first.admin.cluster('MYID')));
    await eventually(
      async () => String(await replica.admin.info('replication')).includes('link_status:up'),
      'a replica',
    );
    const failOver = async () => {
      await first.kill();
      await eventually(async () => (await isPrimary(replica)) && isWhole(servers.slice(1)), 'the replica as primary');
    };
    return { servers, sentinels: [], scheme: 'rediss-cluster', path: '', failOver };
  },
};

/** Of the three primaries of a cluster, that which fails first. */
const SLOTS: readonly (readonly [from: number, to: number])[] = [
  [10_923, 16_383],
  [0, 5460],
  [5461, 10_922],
];

const eventually = (condition: () => Promise<boolean>, what: string): Promise<void> =>
  until(condition, { timeoutMs: FAIL_OVER_TIMEOUT_MS, what });

const isPrimary = async ({ admin }: RedisNode): Promise<boolean> => (await admin.role())[0] === 'master';

const startServer = (ground: Ground, lines: readonly string[] = []): Promise<RedisNode> =>
  startNode(ground, ['save ""', 'appendonly no', `masterauth ${ADMIN_PASSWORD}`, ...lines]);

/** Users are in the configuration, so that a restarted server knows them at once. */
async function startNode(
  ground: Ground,
  lines: readonly string[],
  ofSentinels?: readonly string[],
): Promise<RedisNode> {
  const users = (ofSentinels ?? ground.rules.servers).map((rule) => `user ${wordsOf(rule).join(' ')}`);
  const node = await startRedisNode({
    folder: ground.folder,
    port: await freePort(),
    lines: [...ground.lines, ...lines, ...users],
    password: ADMIN_PASSWORD,
    tls: ground.tls,
    isSentinel: ofSentinels !== undefined,
  });
  ground.nodes.push(node);
  return node;
}
