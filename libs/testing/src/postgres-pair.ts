import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, startPostgres, type LocalPostgres } from '@sealgate/local-services';
import pg from 'pg';
import { until } from './until.ts';

/** A primary and its synchronous standby, both real servers, which change places as often as a test says so. */
export interface PostgresPair {
  /** Of a database of this test's own, on both servers. */
  readonly url: string;
  /** The same on the server that is the primary now, on the other one, and by their places in `url`. */
  readonly primaryUrl: string;
  readonly standbyUrl: string;
  /** From now on, for less than a minute, the primary alone has what it acknowledges: an asynchronous standby that is behind. */
  withhold(): Promise<void>;
  /**
   * Kills the primary as a crash would, or freezes it, as a network that is cut looks to those who ask it (where processes
   * can be seen: Linux). Then promotes the other, which stands alone.
   */
  failOver(how?: 'killed' | 'frozen'): Promise<void>;
  /** Starts the server that was killed, which then takes writes, or lets one that was frozen go on: each takes itself for the primary. */
  startOld(): Promise<void>;
  /** Makes the other server a standby anew, and waits until no commit is acknowledged that it does not hold. */
  rejoin(): Promise<void>;
  stop(): Promise<void>;
}

/** Neither server survives a crash of this machine, both survive one of the other: what a pair is for. */
const settings: Readonly<Record<string, string>> = {
  fsync: 'off',
  full_page_writes: 'off',
  shared_buffers: '32MB',
  max_connections: '100',
  max_wal_size: '256MB',
  wal_keep_size: '512MB',
};
const DATABASE = 'pair';
const SYNC_WITHIN_MS = 60_000;

/** One of the two servers: its place never changes, what it is does. */
interface Seat {
  readonly port: number;
  readonly folder: string;
  /** Each start as a standby has a folder of its own. */
  generation: number;
  server: LocalPostgres | undefined;
  /** Its processes, where they stand still. */
  frozen: readonly number[];
}

/** Starts both, the first of the URL as the primary. */
export async function postgresPair(): Promise<PostgresPair> {
  const folder = mkdtempSync(join(tmpdir(), 'sealgate-pair-'));
  chmodSync(folder, 0o711); // Under root the servers are another user, who must pass through to its data.
  const seats: Seat[] = [];
  for (const name of ['one', 'two']) {
    const place = join(folder, name);
    mkdirSync(place, { mode: 0o711 });
    seats.push({ port: await freePort(), folder: place, generation: 0, server: undefined, frozen: [] });
  }
  let [primary, other] = seats as [Seat, Seat];

  const start = async (seat: Seat, more: Readonly<Record<string, string>> = {}): Promise<LocalPostgres> => {
    const dataDirectory = dataOf(seat);
    seat.server = await startPostgres({
      dataDirectory,
      port: seat.port,
      settings: { ...settings, ...more },
      removeWithOwner: folder,
    });
    return seat.server;
  };
  const { url: adminUrl } = await start(primary);
  const urlOf = ({ port }: Seat, database = DATABASE): string =>
    Object.assign(new URL(adminUrl), { port: String(port), pathname: `/${database}` }).href;

  const rejoin = async (): Promise<void> => {
    thaw(other);
    await other.server?.stop('immediate');
    rmSync(dataOf(other), { recursive: true, force: true });
    other.generation += 1;
    await copyBase(urlOf(primary, 'postgres'), primary.server!.dataDirectory, dataOf(other));
    const { password } = new URL(adminUrl);
    const source = `host=127.0.0.1 port=${primary.port} user=postgres password=${password} application_name=pair`;
    await start(other, { primary_conninfo: source });
    await setSynchronous(urlOf(primary, 'postgres'), 'ANY 1 (*)');
    const text = `SELECT FROM pg_stat_replication WHERE state = 'streaming' AND sync_state IN ('sync', 'quorum')`;
    await until(async () => (await ask(urlOf(primary, 'postgres'), text)).length > 0, {
      timeoutMs: SYNC_WITHIN_MS,
      what: 'a synchronous standby',
    });
  };

  await ask(urlOf(primary, 'postgres'), `CREATE DATABASE ${DATABASE} TEMPLATE template0`);
  await rejoin();
  /** Processes of the primary that send to the standby, and are stopped. */
  let withheld: number[] = [];
  const both = new URL(urlOf(primary));
  const hosts = seats.map(({ port }) => `127.0.0.1:${port}`).join(',');
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
      const senders = await ask(urlOf(primary, 'postgres'), 'SELECT pid FROM pg_stat_replication');
      withheld = senders.map((row) => (row as { pid: number }).pid);
      for (const pid of withheld) process.kill(pid, 'SIGSTOP');
    },
    async failOver(how = 'killed') {
      const { pid, exited } = primary.server!;
      if (how === 'frozen') {
        primary.frozen = processesOf(pid);
        for (const each of primary.frozen) process.kill(each, 'SIGSTOP');
      } else {
        process.kill(pid, 'SIGKILL');
        // One that is stopped would not see that its server is gone.
        for (const each of withheld.splice(0)) process.kill(each, 'SIGKILL');
        await exited;
      }
      const promoting = urlOf(other, 'postgres');
      await ask(promoting, 'SELECT pg_promote(true, 60)');
      // Whoever promotes a standby that stands alone has to say so, or its first commit waits for another one.
      await setSynchronous(promoting, '');
      [primary, other] = [other, primary];
    },
    async startOld() {
      // It still waits for its standby with each commit, as whoever was cut off does: nothing is acknowledged there.
      if (other.frozen.length > 0) return thaw(other);
      await start(other);
      await setSynchronous(urlOf(other, 'postgres'), '');
    },
    rejoin,
    async stop() {
      for (const seat of seats) {
        thaw(seat);
        await seat.server?.stop('immediate');
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A postmaster, then its children. */
function processesOf(postmaster: number): number[] {
  const children = readdirSync('/proc').filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      // The name of the program stands in parentheses and may hold anything; the parent is the second word behind.
      return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === postmaster;
    } catch {
      return false; // It ended meanwhile.
    }
  });
  return [postmaster, ...children.map(Number)];
}

function thaw(seat: Seat): void {
  for (const pid of seat.frozen) {
    try {
      process.kill(pid, 'SIGCONT');
    } catch {
      // It ended meanwhile.
    }
  }
  seat.frozen = [];
}

const dataOf = ({ folder, generation }: Seat): string => join(folder, `data-${generation}`);

/** PostgreSQL's low-level backup (25.3.3 of its manual): what pg_basebackup does, by the server's programs alone. */
async function copyBase(url: string, from: string, to: string): Promise<void> {
  const client = await connect(url);
  try {
    await client.query(`SELECT pg_backup_start('pair', true)`);
    // Files may go while they are copied; what matters of them is in the WAL.
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
      // It has the owner of the folder, who is the server's user where this process is root.
      spawnSync('chown', ['--reference', to, file], { stdio: 'ignore', timeout: 10_000 });
    }
  } finally {
    await client.end();
  }
}

async function setSynchronous(url: string, names: string): Promise<void> {
  const client = await connect(url);
  try {
    // This statement itself must not wait for a standby that is not there.
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
