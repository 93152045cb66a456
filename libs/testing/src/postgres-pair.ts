import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, startPostgres, type LocalPostgres } from '@sealgate/local-services';
import pg from 'pg';
import { until } from './until.ts';

/** A primary and its synchronous standby, both real servers, whose roles a test can switch repeatedly. */
export interface PostgresPair {
  /** A database of this test, with both servers in the URL. */
  readonly url: string;
  /** The same database on the current primary, and on the other server. */
  readonly primaryUrl: string;
  readonly standbyUrl: string;
  /**
   * Stops replication, for less than a minute: the primary acknowledges writes that the standby lacks (asynchronous
   * lag).
   */
  withhold(): Promise<void>;
  /** Stops replication while commits go on waiting for it: none is acknowledged (Linux only). Returns its end. */
  holdCommits(): Promise<() => void>;
  /**
   * Kills the primary like a crash, or freezes it, which looks like a network partition to clients (Linux only). Then
   * promotes the other, which has no standby.
   */
  failOver(how?: 'killed' | 'frozen'): Promise<void>;
  /** Restarts the killed server, which then takes writes, or thaws the frozen one: each acts as a primary. */
  startOld(): Promise<void>;
  /** Freezes the current primary, so that only the other server answers (Linux only). Returns its end. */
  freezePrimary(): () => void;
  /** Restarts the primary with its data; `immediate` is like a crash. */
  restartPrimary(mode?: 'fast' | 'immediate'): Promise<void>;
  /** Starts servers that have ended by themselves, as for want of disk. Returns how many there were. */
  revive(): Promise<number>;
  /** The folder in which the data of the primary lies. */
  readonly primaryFolder: string;
  /** Rebuilds the other server as a standby and waits until replication is synchronous. */
  rejoin(): Promise<void>;
  stop(): Promise<void>;
}

/** The data survives a crash of one server, not one of this machine. */
const settings: Readonly<Record<string, string>> = {
  fsync: 'off',
  full_page_writes: 'off',
  shared_buffers: '32MB',
  max_connections: '100',
  max_wal_size: '256MB',
  wal_keep_size: '512MB',
};
const DATABASE = 'pair';
const SYNC_TIMEOUT_MS = 60_000;

/** One of the two servers: its port and folder are fixed, its role changes. */
interface Node {
  readonly port: number;
  readonly folder: string;
  /** Each rebuild as a standby has a new data folder. */
  generation: number;
  server: LocalPostgres | undefined;
  /** Its stopped processes while it is frozen. */
  frozen: readonly number[];
}

/** Starts both, the first of the URL as the primary. `folders` is where the data of each lies; default: temporary ones. */
export async function postgresPair({
  folders = [],
  settings: own = {},
}: {
  readonly folders?: readonly string[];
  readonly settings?: Readonly<Record<string, string>>;
} = {}): Promise<PostgresPair> {
  const folder = mkdtempSync(join(tmpdir(), 'sealgate-pair-'));
  chmodSync(folder, 0o711); // Under root the servers run as another user, who must reach their data.
  const nodes: Node[] = [];
  for (const [index, name] of ['one', 'two'].entries()) {
    const place = folders[index] ?? join(folder, name);
    mkdirSync(place, { mode: 0o711, recursive: true });
    nodes.push({ port: await freePort(), folder: place, generation: 0, server: undefined, frozen: [] });
  }
  let [primary, other] = nodes as [Node, Node];

  const start = async (node: Node, more: Readonly<Record<string, string>> = {}): Promise<LocalPostgres> => {
    const dataDirectory = dataOf(node);
    node.server = await startPostgres({
      dataDirectory,
      port: node.port,
      settings: { ...settings, ...own, ...more },
      removeWithOwner: folder,
    });
    return node.server;
  };
  const { url: adminUrl } = await start(primary);
  const urlOf = ({ port }: Node, database = DATABASE): string =>
    Object.assign(new URL(adminUrl), { port: String(port), pathname: `/${database}` }).href;

  const standby = (): Record<string, string> => {
    const { password } = new URL(adminUrl);
    return {
      primary_conninfo: `host=127.0.0.1 port=${primary.port} user=postgres password=${password} application_name=pair`,
    };
  };
  const rejoin = async (): Promise<void> => {
    thaw(other);
    await other.server?.stop('immediate');
    rmSync(dataOf(other), { recursive: true, force: true });
    other.generation += 1;
    await copyBase(urlOf(primary, 'postgres'), primary.server!.dataDirectory, dataOf(other));
    await start(other, standby());
    await setSynchronous(urlOf(primary, 'postgres'), 'ANY 1 (*)');
    const text = `SELECT FROM pg_stat_replication WHERE state = 'streaming' AND sync_state IN ('sync', 'quorum')`;
    await until(async () => (await ask(urlOf(primary, 'postgres'), text)).length > 0, {
      timeoutMs: SYNC_TIMEOUT_MS,
      what: 'a synchronous standby',
    });
  };

  await ask(urlOf(primary, 'postgres'), `CREATE DATABASE ${DATABASE} TEMPLATE template0`);
  await rejoin();
  /** The stopped WAL senders of the primary. */
  let withheld: number[] = [];
  const both = new URL(urlOf(primary));
  const hosts = nodes.map(({ port }) => `127.0.0.1:${port}`).join(',');
  return {
    url: `postgresql://${both.username}:${both.password}@${hosts}/${DATABASE}?target_session_attrs=read-write`,
    get primaryUrl() {
      return urlOf(primary);
    },
    get standbyUrl() {
      return urlOf(other);
    },
    async withhold() {
      await setSynchronous(urlOf(primary, 'postgres'), '');
      withheld = await stopSenders(urlOf(primary, 'postgres'));
    },
    async holdCommits() {
      const stopped = await stopSenders(urlOf(primary, 'postgres'));
      return () => signal(stopped, 'SIGCONT');
    },
    async failOver(how = 'killed') {
      const { pid, exited } = primary.server!;
      if (how === 'frozen') {
        primary.frozen = processesOf(pid);
        signal(primary.frozen, 'SIGSTOP');
      } else {
        process.kill(pid, 'SIGKILL');
        // A stopped WAL sender would not notice the end of its server.
        for (const each of withheld.splice(0)) process.kill(each, 'SIGKILL');
        await exited;
      }
      const promoting = urlOf(other, 'postgres');
      await ask(promoting, 'SELECT pg_promote(true, 60)');
      // Without a standby its first commit would wait for a synchronous one.
      await setSynchronous(promoting, '');
      [primary, other] = [other, primary];
    },
    async startOld() {
      // A thawed primary still waits for its standby at each commit: nothing is acknowledged there.
      if (other.frozen.length > 0) return thaw(other);
      await start(other);
      await setSynchronous(urlOf(other, 'postgres'), '');
    },
    freezePrimary() {
      const node = primary;
      node.frozen = processesOf(node.server!.pid);
      signal(node.frozen, 'SIGSTOP');
      return () => thaw(node);
    },
    async restartPrimary(mode = 'fast') {
      await primary.server!.stop(mode);
      await start(primary);
    },
    async revive() {
      const ended = await Promise.all(nodes.map(hasEnded));
      const dead = nodes.filter((_, index) => ended[index]);
      for (const node of dead) await start(node, node === other ? standby() : {});
      return dead.length;
    },
    get primaryFolder() {
      return primary.folder;
    },
    rejoin,
    async stop() {
      for (const node of nodes) {
        thaw(node);
        await node.server?.stop('immediate');
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const hasEnded = ({ server }: Node): Promise<boolean> =>
  Promise.race([server!.exited.then(() => true), new Promise<false>((done) => setImmediate(() => done(false)))]);

/** A postmaster, then its children. */
function processesOf(postmaster: number): number[] {
  const children = readdirSync('/proc').filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      // The program name is in parentheses and may contain anything; the parent pid is the second word after it.
      return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === postmaster;
    } catch {
      return false; // It has ended.
    }
  });
  return [postmaster, ...children.map(Number)];
}

function thaw(node: Node): void {
  signal(node.frozen, 'SIGCONT');
  node.frozen = [];
}

function signal(pids: readonly number[], name: 'SIGSTOP' | 'SIGCONT'): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name);
    } catch {
      // It has ended.
    }
  }
}

/** Stops the WAL senders of a primary. Returns their pids. */
async function stopSenders(url: string): Promise<number[]> {
  const senders = (await ask(url, 'SELECT pid FROM pg_stat_replication')) as { pid: number }[];
  const pids = senders.map(({ pid }) => pid);
  signal(pids, 'SIGSTOP');
  return pids;
}

const dataOf = ({ folder, generation }: Node): string => join(folder, `data-${generation}`);

/** PostgreSQL's low-level backup (25.3.3 of its manual): what pg_basebackup does, by the server's programs alone. */
async function copyBase(url: string, from: string, to: string): Promise<void> {
  const client = await connect(url);
  try {
    await client.query(`SELECT pg_backup_start('pair', true)`);
    // Files may disappear during the copy; recovery replays them from the WAL.
    spawnSync('cp', ['-a', from, to], { stdio: 'ignore', timeout: 120_000 });
    const { rows } = await client.query<{ labelfile: string }>('SELECT labelfile FROM pg_backup_stop(false)');
    spawnSync(
      'sh',
      ['-c', 'rm -rf postmaster.pid postmaster.opts pg_wal/[0-9A-F]* pg_wal/archive_status/* pg_replslot/*'],
      {
        cwd: to,
        stdio: 'ignore',
        timeout: 60_000,
      },
    );
    for (const [name, text] of [
      ['backup_label', rows[0]!.labelfile],
      ['standby.signal', ''],
    ] as const) {
      const file = join(to, name);
      writeFileSync(file, text);
      // The owner of the folder is the server's user if this process is root.
      spawnSync('chown', ['--reference', to, file], { stdio: 'ignore', timeout: 10_000 });
    }
  } finally {
    await client.end();
  }
}

async function setSynchronous(url: string, names: string): Promise<void> {
  const client = await connect(url);
  try {
    // This statement itself must not wait for a missing standby.
    await client.query('SET synchronous_commit = local');
    await client.query(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`);
    await client.query('SELECT pg_reload_conf()');
    await until(
      async () => {
        const { rows } = await client.query<{ names: string }>(
          `SELECT setting AS names FROM pg_settings WHERE name = 'synchronous_standby_names'`,
        );
        return rows[0]?.names === names;
      },
      { timeoutMs: 10_000, what: 'the setting' },
    );
  } finally {
    await client.end();
  }
}

async function ask(url: string, text: string): Promise<object[]> {
  const client = await connect(url);
  try {
    const { rows } = await client.query<Record<string, unknown>>(text);
    return rows;
  } finally {
    await client.end();
  }
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000, query_timeout: 120_000 });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}
