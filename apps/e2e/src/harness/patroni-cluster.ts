import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findProgram, foldersOf, postgresUser, runAs } from '@sealgate/local-services';
import { executeSql, installedPostgres, slowProxy, until, type SlowProxy } from '@sealgate/testing';
import { quietPort } from './gateway-process.ts';
import { guard, guardPid } from './guardian.ts';
import { haproxyConfig, patroniYaml, type NodePlan, type Passwords } from './patroni-files.ts';

/** What Debian installs as patroni, etcd-server, haproxy and postgresql. */
interface Programs {
  readonly patroni: string;
  readonly etcd: string;
  readonly haproxy: string;
  /** `.../bin` of PostgreSQL with pg_basebackup and pg_rewind. */
  readonly binFolder: string;
}

/** The programs of a cluster under Patroni; undefined where one is missing. */
export function patroniPrograms(): Programs | undefined {
  const find = (name: string) => findProgram(name, [...foldersOf(process.env['PATH']), '/usr/sbin']);
  const [patroni, etcd, haproxy] = [find('patroni'), find('etcd'), find('haproxy')];
  const binFolder = installedPostgres();
  if (patroni === undefined || etcd === undefined || haproxy === undefined || binFolder === undefined) return undefined;
  return { patroni, etcd, haproxy, binFolder };
}

/** Two PostgreSQL servers under Patroni with etcd, behind HAProxy: replication is synchronous. */
export interface PatroniCluster {
  /** The database behind HAProxy. */
  readonly url: string;
  /** The same database on one node, whatever its role. */
  urlOf(name: string): string;
  /** The name of the node that Patroni calls the leader. */
  leader(): Promise<string>;
  /** Hands the leadership over, as `patronictl switchover` does; resolves once the other one leads. */
  switchOver(): Promise<void>;
  /** Kills the leader and its Patroni, like the loss of the machine; resolves once the other one leads. */
  loseLeader(): Promise<string>;
  /** Starts Patroni of a lost node again. */
  startNode(name: string): void;
  /** Cuts the leader off etcd: its PostgreSQL still reaches clients. Resolves once the other one leads. */
  cutOffLeader(): Promise<string>;
  reconnect(name: string): Promise<void>;
  /** Waits until the other node is a synchronous standby. */
  untilSynchronous(): Promise<void>;
  stop(): Promise<void>;
}

const DATABASE = 'patroni';
const NAMES = ['pg-1', 'pg-2'] as const;
/** The lease of a silent leader (20 s), and what an election, a start and a busy machine take. */
const WITHIN_MS = 90_000;

interface Node extends NodePlan {
  /** To etcd. */
  proxy: SlowProxy;
  patroni?: ChildProcess;
}

interface Member {
  readonly name: string;
  readonly role: string;
  readonly state: string;
}

export async function patroniCluster(programs: Programs): Promise<PatroniCluster> {
  const cluster = new Cluster(programs);
  try {
    await cluster.start();
  } catch (error) {
    const log = cluster.logText();
    await cluster.stop();
    throw new Error(`The cluster did not start:\n${log.slice(-4_000)}`, { cause: error });
  }
  return cluster;
}

class Cluster implements PatroniCluster {
  readonly #programs: Programs;
  readonly #folder = mkdtempSync(join(tmpdir(), 'sealgate-patroni-'));
  readonly #user = postgresUser();
  readonly #passwords: Passwords = {
    superuser: randomBytes(12).toString('hex'),
    replication: randomBytes(12).toString('hex'),
  };
  readonly #nodes: Node[] = [];
  readonly #children: ChildProcess[] = [];
  /** Ends the guard of each PostgreSQL, by its pid. */
  readonly #guarded = new Map<number, () => void>();
  #etcdPort = 0;
  #proxyPort = 0;

  constructor(programs: Programs) {
    this.#programs = programs;
    chmodSync(this.#folder, 0o711);
  }

  get url(): string {
    return this.#urlAt(this.#proxyPort);
  }

  urlOf(name: string): string {
    return this.#urlAt(this.#node(name).postgresPort);
  }

  async start(): Promise<void> {
    this.#etcdPort = await quietPort();
    this.#proxyPort = await quietPort();
    const peerPort = await quietPort();
    const etcdUrl = `http://127.0.0.1:${this.#etcdPort}`;
    const peerUrl = `http://127.0.0.1:${peerPort}`;
    this.#spawn(this.#programs.etcd, [
      ...['--name', 'etcd', '--data-dir', join(this.#folder, 'etcd'), '--unsafe-no-fsync'],
      ...['--listen-client-urls', etcdUrl, '--advertise-client-urls', etcdUrl],
      ...['--listen-peer-urls', peerUrl, '--initial-advertise-peer-urls', peerUrl],
      ...['--initial-cluster', `etcd=${peerUrl}`],
    ]);
    await until(() => isOk(`${etcdUrl}/health`), { timeoutMs: WITHIN_MS, what: 'etcd' });
    for (const name of NAMES) await this.#addNode(name);
    const config = join(this.#folder, 'haproxy.cfg');
    writeFileSync(config, haproxyConfig(this.#proxyPort, this.#nodes));
    this.#spawn(this.#programs.haproxy, ['-db', '-f', config]);
    await this.untilSynchronous();
    await executeSql(this.#urlAt(this.#proxyPort, 'postgres'), `CREATE DATABASE ${DATABASE} TEMPLATE template0`);
  }

  async leader(): Promise<string> {
    const found = (await this.#members()).find(({ role }) => role === 'leader');
    if (found === undefined) throw new Error('Nobody leads.');
    return found.name;
  }

  async switchOver(): Promise<void> {
    const leader = await this.leader();
    const { apiPort } = this.#node(leader);
    const candidate = NAMES.find((name) => name !== leader);
    const { status } = await fetch(`http://127.0.0.1:${apiPort}/switchover`, {
      method: 'POST',
      body: JSON.stringify({ leader, candidate }),
      signal: AbortSignal.timeout(WITHIN_MS),
    });
    if (status !== 200) throw new Error(`The switchover was answered ${status}.`);
    await this.#untilOtherLeads(leader);
  }

  async loseLeader(): Promise<string> {
    const name = await this.leader();
    const node = this.#node(name);
    node.patroni?.kill('SIGKILL');
    this.#killServer(node);
    await this.#untilOtherLeads(name);
    return name;
  }

  startNode(name: string): void {
    const node = this.#node(name);
    const config = join(node.folder, 'patroni.yaml');
    node.patroni = this.#spawn(this.#programs.patroni, [config], runAs(this.#user));
  }

  async cutOffLeader(): Promise<string> {
    const name = await this.leader();
    await this.#node(name).proxy.close();
    await this.#untilOtherLeads(name);
    return name;
  }

  async reconnect(name: string): Promise<void> {
    const node = this.#node(name);
    node.proxy = await slowProxy(this.#etcdPort, node.etcdPort);
  }

  async untilSynchronous(): Promise<void> {
    const isWhole = async (): Promise<boolean> => {
      const members = await this.#members().catch(() => []);
      const count = (role: string) =>
        members.filter((member) => member.role === role && ['running', 'streaming'].includes(member.state)).length;
      return count('leader') === 1 && count('sync_standby') === 1;
    };
    await until(isWhole, { timeoutMs: WITHIN_MS * 2, what: 'a leader and its synchronous standby' });
    this.#guardServers();
  }

  logText(): string {
    return readFileSync(join(this.#folder, 'log'), 'utf8');
  }

  async stop(): Promise<void> {
    for (const { patroni } of this.#nodes) patroni?.kill('SIGKILL');
    for (const node of this.#nodes) this.#killServer(node);
    this.#guardServers();
    for (const child of this.#children) child.kill('SIGKILL');
    for (const { proxy } of this.#nodes) await proxy.close();
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }

  async #addNode(name: string): Promise<void> {
    const proxy = await slowProxy(this.#etcdPort);
    const folder = join(this.#folder, name);
    mkdirSync(folder);
    const node = {
      ...{ name, proxy, folder, etcdPort: proxy.port },
      ...{ postgresPort: await quietPort(), apiPort: await quietPort() },
    };
    const config = join(folder, 'patroni.yaml');
    writeFileSync(config, patroniYaml(node, this.#programs.binFolder, this.#passwords));
    if (this.#user !== undefined) for (const path of [folder, config]) chownSync(path, this.#user.uid, this.#user.gid);
    this.#nodes.push(node);
    this.startNode(name);
  }

  #spawn(program: string, parameters: readonly string[], as: { uid?: number; gid?: number } = {}): ChildProcess {
    const log = openSync(join(this.#folder, 'log'), 'a');
    const child = spawn(program, parameters, {
      ...{ ...as, cwd: this.#folder, stdio: ['ignore', log, log] },
      env: { PATH: process.env['PATH'], LC_ALL: 'C.UTF-8', HOME: this.#folder, ETCD_UNSUPPORTED_ARCH: process.arch },
    });
    closeSync(log);
    guard(child);
    this.#children.push(child);
    return child;
  }

  /** Guards the servers that run now, and no pid of one that has ended, which may be another's by then. */
  #guardServers(): void {
    const running = this.#nodes.map(postmasterOf).filter((pid) => pid !== 0);
    for (const [pid, release] of this.#guarded) if (!running.includes(pid) && this.#guarded.delete(pid)) release();
    for (const pid of running) if (!this.#guarded.has(pid)) this.#guarded.set(pid, guardPid(pid));
  }

  /** Its children end by themselves once they notice. */
  #killServer(node: Node): void {
    const pid = postmasterOf(node);
    if (pid !== 0) process.kill(pid, 'SIGKILL');
  }

  #node(name: string): Node {
    const found = this.#nodes.find((node) => node.name === name);
    if (found === undefined) throw new Error(`There is no node ${name}.`);
    return found;
  }

  #urlAt(port: number, database = DATABASE): string {
    return `postgresql://postgres:${this.#passwords.superuser}@127.0.0.1:${port}/${database}?target_session_attrs=read-write`;
  }

  /** As the first node that answers knows them. */
  async #members(): Promise<readonly Member[]> {
    for (const { apiPort } of this.#nodes) {
      const url = `http://127.0.0.1:${apiPort}/cluster`;
      const answer = await fetch(url, { signal: AbortSignal.timeout(5_000) }).catch(() => undefined);
      if (answer?.ok === true) return ((await answer.json()) as { members: Member[] }).members;
    }
    throw new Error('No node answers.');
  }

  async #untilOtherLeads(name: string): Promise<void> {
    const { apiPort } = this.#node(NAMES.find((other) => other !== name)!);
    await until(() => isOk(`http://127.0.0.1:${apiPort}/primary`), {
      timeoutMs: WITHIN_MS,
      what: `another leader than ${name}`,
    });
  }
}

const isOk = (url: string): Promise<boolean> =>
  fetch(url, { signal: AbortSignal.timeout(5_000) }).then(
    ({ ok }) => ok,
    () => false,
  );

/** 0 if its PostgreSQL does not run. */
function postmasterOf({ folder }: NodePlan): number {
  try {
    const pid = Number(readFileSync(join(folder, 'data', 'postmaster.pid'), 'utf8').split('\n')[0]);
    process.kill(pid, 0);
    return pid;
  } catch {
    return 0;
  }
}
