import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { smallDisk } from '@sealgate/testing';
import pg from 'pg';
import { removeCluster, stopOrphanedPostgres, startPostgres, LocalServiceError, type LocalPostgres } from './index.ts';
import { isAlive, waitUntilGone } from './processes.ts';

const asRoot = process.getuid?.() === 0;
const quick = { fsync: 'off', shared_buffers: '16MB' };

async function ask(url: string, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

describe('startPostgres', () => {
  let folder = '';
  let open: LocalPostgres[] = [];
  const start = async (dataDirectory: string, more: { port?: number } = {}): Promise<LocalPostgres> => {
    const server = await startPostgres({ dataDirectory, settings: quick, removeWithOwner: folder, ...more });
    open.push(server);
    return server;
  };
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'sealgate-postgres-'));
    chmodSync(folder, 0o755);
  });
  afterEach(async () => {
    for (const server of open) await server.stop('immediate');
    open = [];
    removeCluster(join(folder, 'data'));
    rmSync(folder, { recursive: true, force: true });
  });

  it('creates a cluster, and keeps its data and password over a clean stop', async () => {
    const first = await start(join(folder, 'data'));
    await ask(first.url, 'CREATE TABLE kept AS SELECT 7 AS seven');
    await first.stop();
    await first.stop();
    expect(await first.exited).toBe(0);
    const second = await start(join(folder, 'data'), { port: first.port });
    expect(second.url).toBe(first.url);
    expect(await ask(second.url, 'SELECT seven FROM kept')).toEqual([{ seven: 7 }]);
  }, 60_000);

  it('listens only on loopback, requires the password, and compares text by code point', async () => {
    const { url } = await start(join(folder, 'data'));
    const [row] = await ask(
      url,
      `SELECT current_setting('listen_addresses') AS addresses, current_setting('unix_socket_directories') AS sockets,
              current_setting('server_encoding') AS encoding, 'B' < 'a' AS by_code_point`,
    );
    expect(row).toEqual({ addresses: '127.0.0.1', sockets: '', encoding: 'UTF8', by_code_point: true });
    const wrong = new URL(url);
    wrong.password = 'wrong';
    await expect(ask(wrong.href, 'SELECT 1')).rejects.toThrow(/password authentication failed/);
  }, 60_000);

  it('recovers acknowledged writes after a SIGKILL, and removes the stale pid file', async () => {
    const first = await start(join(folder, 'data'));
    await ask(first.url, 'CREATE TABLE kept AS SELECT 7 AS seven');
    process.kill(first.pid, 'SIGKILL');
    expect(await first.exited).toBeNull();
    expect(existsSync(join(first.dataDirectory, 'postmaster.pid'))).toBe(true);
    const second = await start(join(folder, 'data'));
    expect(await ask(second.url, 'SELECT seven FROM kept')).toEqual([{ seven: 7 }]);
  }, 60_000);

  it('starts although another process has the pid of a killed server', async () => {
    const first = await start(join(folder, 'data'));
    await first.stop();
    const pidFile = join(first.dataDirectory, 'postmaster.pid');
    writeFileSync(pidFile, `${process.pid}\n${first.dataDirectory}\n0\n${first.port}\n\n127.0.0.1\n`);
    const second = await start(join(folder, 'data'));
    expect(await ask(second.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  }, 60_000);

  it('refuses a second server on the same cluster, which stopOrphanedPostgres stops', async () => {
    const first = await start(join(folder, 'data'));
    await expect(start(join(folder, 'data'))).rejects.toThrow(
      `A PostgreSQL (process ${first.pid}) already runs on ${first.dataDirectory}. Stop it first.`,
    );
    expect(await stopOrphanedPostgres(join(folder, 'data'))).toBe(true);
    expect(isAlive(first.pid)).toBe(false);
    expect(await stopOrphanedPostgres(join(folder, 'data'))).toBe(false);
  }, 60_000);

  it('reports a taken port, a foreign folder, another version and a broken cluster in one sentence each', async () => {
    const taken = await listening();
    await expect(start(join(folder, 'data'), { port: portOf(taken) })).rejects.toThrow(
      new LocalServiceError(`The port ${portOf(taken)} is taken. PostgreSQL needs it.`),
    );
    taken.close();

    const other = join(folder, 'other');
    mkdirSync(other);
    writeFileSync(join(other, 'thesis.txt'), 'mine');
    await expect(start(other)).rejects.toThrow(
      `The folder ${other} is not empty and holds no PostgreSQL cluster. Choose another folder, or empty it.`,
    );
    expect(readFileSync(join(other, 'thesis.txt'), 'utf8')).toBe('mine');

    const { dataDirectory } = await start(join(folder, 'data'));
    await open.at(-1)?.stop();
    rmSync(join(dataDirectory, 'global/pg_control'));
    await expect(start(join(folder, 'data'))).rejects.toThrow(
      /^PostgreSQL does not start on .*could not find the database system\. Its log is /,
    );
    writeFileSync(join(dataDirectory, 'PG_VERSION'), '12\n');
    await expect(start(join(folder, 'data'))).rejects.toThrow(/was made by PostgreSQL 12, and this is PostgreSQL 18/);
  }, 60_000);

  it('reports a full disk and a read-only one', async () => {
    const disk = smallDisk(16, 'a full disk, a read-only disk');
    if (disk === undefined) return;
    try {
      await expect(start(join(disk.path, 'data'))).rejects.toThrow(
        `The disk that holds ${join(disk.path, 'data')} is full. Free some space and start again.`,
      );
      disk.makeReadOnly();
      await expect(start(join(disk.path, 'data'))).rejects.toThrow(/is on a read-only file system/);
    } finally {
      disk.release();
    }
  }, 60_000);

  it('ends with the process that started it, even by SIGKILL, and removes the folder', async () => {
    const inner = join(folder, 'inner');
    mkdirSync(inner, { mode: 0o755 });
    const owner = spawn(process.execPath, script(`removeWithOwner: ${JSON.stringify(inner)}`, join(inner, 'data')), {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const pid = await new Promise<number>((done) =>
      owner.stdout.on('data', (chunk) => done(JSON.parse(String(chunk)).pid)),
    );
    expect(isAlive(pid)).toBe(true);
    owner.kill('SIGKILL');
    expect(await waitUntilGone(pid, 10_000)).toBe(true);
    const end = performance.now() + 10_000;
    while (existsSync(inner) && performance.now() < end) await new Promise((done) => setImmediate(done));
    expect(existsSync(inner)).toBe(false);
  }, 60_000);

  it('runs as a plain user too', async () => {
    if (!asRoot) return;
    const uid = 65_534;
    const own = join(folder, 'own');
    mkdirSync(own);
    chownSync(own, uid, uid);
    const ended = spawnSync(process.execPath, script('', join(own, 'data'), 'await server.stop();'), {
      uid,
      gid: uid,
      cwd: '/',
      encoding: 'utf8',
    });
    if (ended.error !== undefined || /EACCES|Cannot find (?:module|package)/.test(ended.stderr)) {
      process.stderr.write('NOT TESTED: PostgreSQL as a plain user: that user cannot read this checkout.\n');
      return;
    }
    expect(ended.stderr).toBe('');
    expect(JSON.parse(ended.stdout)).toMatchObject({ dataDirectory: join(own, 'data') });
  }, 60_000);

  it('places the cluster elsewhere if only root may enter the requested folder, and records it', async () => {
    if (!asRoot) return;
    chmodSync(folder, 0o700);
    const asked = join(folder, 'data');
    const first = await start(asked);
    expect(first.dataDirectory).not.toContain(folder);
    await ask(first.url, 'CREATE TABLE kept AS SELECT 7 AS seven');
    await first.stop();
    const second = await start(asked);
    expect(second.dataDirectory).toBe(first.dataDirectory);
    expect(await ask(second.url, 'SELECT seven FROM kept')).toEqual([{ seven: 7 }]);
    await second.stop();
    spawnSync('cp', ['-r', asked, join(folder, 'copy')]);
    await expect(start(join(folder, 'copy'))).rejects.toThrow(/is a copy of .*data, whose PostgreSQL data is in/);
    removeCluster(asked);
    expect(existsSync(first.dataDirectory)).toBe(false);
    expect(existsSync(asked)).toBe(false);
  }, 60_000);
});

/** Node's arguments for a process that starts a server, prints its handle, and then waits or runs `then`. */
function script(more: string, dataDirectory: string, then = 'setInterval(() => {}, 1000);'): string[] {
  const lib = join(import.meta.dirname, 'index.ts');
  const code = `import { startPostgres } from ${JSON.stringify(lib)};
    const server = await startPostgres({ dataDirectory: ${JSON.stringify(dataDirectory)}, settings: { fsync: 'off' }, ${more} });
    console.log(JSON.stringify({ pid: server.pid, dataDirectory: server.dataDirectory }));
    ${then}`;
  return ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', code];
}

const listening = (): Promise<Server> =>
  new Promise((done) => {
    const server = createServer().listen(0, '127.0.0.1', () => done(server));
  });

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}
