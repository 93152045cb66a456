import { spawn, type ChildProcess } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { commandLineOf, freePort, isAlive, isPortFree, removeCluster, waitUntilGone } from '@sealgate/local-services';
import { smallDisk, until } from '@sealgate/testing';
import type { DevFile } from './dev-file.ts';
import { freePortBase } from './free-port-base.fixture.ts';
import { startAll, type Running, type StartRequest } from './start-all.ts';
import { stubSurface } from './stub-surface.fixture.ts';

describe('npm start', () => {
  let folder = '';
  let data = '';
  let said: string[] = [];
  let open: Running[] = [];
  let others: ChildProcess[] = [];
  let portBase = 0;

  const start = async (
    more: Partial<StartRequest> = {},
    options: Partial<StartRequest['options']> = {},
  ): Promise<Running> => {
    const running = await startAll({
      options: { detach: false, fresh: false, data, portBase, surfaces: undefined, redis: false, ...options },
      surfaces: [stubSurface(1), stubSurface(4)],
      env: {},
      signal: new AbortController().signal,
      detached: false,
      tell: (line) => said.push(line),
      ...more,
    });
    open.push(running);
    return running;
  };
  const readDev = (): DevFile => JSON.parse(readFileSync(join(data, 'dev.json'), 'utf8'));

  // A new cluster takes longer than all else that a start does, so the starts share one.
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'sealgate-start-'));
    chmodSync(folder, 0o755);
  });
  beforeEach(async () => {
    data = join(folder, 'data');
    said = [];
    portBase = await freePortBase();
  });
  afterEach(async () => {
    for (const running of open) await running.stop();
    for (const other of others) other.kill('SIGKILL');
    open = [];
    others = [];
  });
  afterAll(() => {
    if (existsSync(join(folder, 'data/postgres'))) removeCluster(join(folder, 'data/postgres'));
    rmSync(folder, { recursive: true, force: true });
  });

  it('starts all, writes dev.json readable only by the owner, and stops all', async () => {
    const running = await start();
    const dev = readDev();
    expect(statSync(join(data, 'dev.json')).mode & 0o777).toBe(0o600);
    expect(dev).toEqual({
      adminToken: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
      databaseUrl: expect.stringMatching(
        new RegExp(`^postgresql://postgres:.+@127\\.0\\.0\\.1:${portBase + 90}/sealgate$`),
      ),
      redisUrl: null,
      surfaces: {
        'stub-1': surfaceAt(portBase, 1),
        'stub-4': surfaceAt(portBase, 4),
      },
      ledger: {
        driver: 'embedded',
        origin: 'localhost/sealgate',
        verifierKey: expect.stringMatching(/^localhost\/sealgate\+/),
      },
      oidc: { issuer: `http://127.0.0.1:${portBase + 80}`, clientId: 'sealgate-cli', audience: 'urn:sealgate:demo' },
      demo: {
        keys: { 'key-1': 'secret', 'key-4': 'secret' },
        people: [
          { role: 'operator', subject: 'demo-operator', email: 'demo-operator@example.com' },
          ...[
            'owner',
            'admin',
            'risk_manager',
            'auditor',
            'contributor',
            'viewer',
            'partner_read',
            'reviewer',
            'author',
          ].map((role) => ({
            role,
            subject: expect.any(String),
            email: expect.stringMatching(/^demo-.+@example\.com$/),
          })),
        ],
      },
    });
    expect(running.screen).toContain(`http://127.0.0.1:${portBase + 4}`);
    expect(said).toContain('Starting PostgreSQL');
    const { databaseUrl, variables } = await ask(`${dev.surfaces['stub-1']?.url}/`);
    expect(databaseUrl).toMatch(new RegExp(`^postgresql://stub_1:.+@127\\.0\\.0\\.1:${portBase + 90}/sealgate$`));
    expect(variables).toEqual(expect.arrayContaining(['DATABASE_URL', 'PATH', 'PORT']));
    expect(variables).not.toContain('CI');

    await running.stop();
    for (const { pid } of Object.values(dev.surfaces)) expect(isAlive(pid)).toBe(false);
    for (const port of [80, 90]) expect(await isPortFree(portBase + port)).toBe(true);
    expect(existsSync(join(data, 'dev.json'))).toBe(false);
    expect(existsSync(join(data, 'lock.json'))).toBe(false);
    expect(readFileSync(join(data, 'log.vkey'), 'utf8')).toBe(`${dev.ledger.verifierKey}\n`);
    expect(readFileSync(join(data, 'logs/stub-4.log'), 'utf8')).toBe('bye\n');
  }, 60_000);

  it('keeps all data across a stop, except with --fresh', async () => {
    await (await start()).stop();
    await start();
    const kept = readDev();
    await open.at(-1)?.stop();
    writeFileSync(join(data, 'mine.txt'), 'not yours');
    await start();
    expect(readDev()).toMatchObject({ adminToken: kept.adminToken, databaseUrl: kept.databaseUrl });
    await open.at(-1)?.stop();
    await start({}, { fresh: true });
    expect(readDev().adminToken).not.toBe(kept.adminToken);
    expect(readDev().databaseUrl).not.toBe(kept.databaseUrl);
    expect(readFileSync(join(data, 'mine.txt'), 'utf8')).toBe('not yours');
  }, 120_000);

  it('starts only the requested surfaces, on their usual ports, including an integrator', async () => {
    await start({}, { surfaces: ['stub-4'] });
    expect(readDev().surfaces).toEqual({ 'stub-4': surfaceAt(portBase, 4) });
  }, 60_000);

  const pages = { ...stubSurface(5), isConsole: true } as const;

  it('lists the console first, and starts it only with other surfaces', async () => {
    const running = await start({ surfaces: [stubSurface(1), pages] });
    const url = `http://127.0.0.1:${portBase + 5}`;
    expect(running.screen.trimStart().split('\n')[0]).toBe(`Open ${url} and choose a person to sign in as.`);
    const dev = readDev();
    expect(dev.console).toEqual({ url, opsUrl: `http://127.0.0.1:${portBase + 55}`, pid: expect.any(Number) });
    expect(Object.keys(dev.surfaces)).toEqual(['stub-1']);
    await expect(start({ surfaces: [stubSurface(1), pages] }, { surfaces: ['stub-5'] })).rejects.toThrow(
      'The console needs another surface: add one to --surfaces.',
    );
  }, 60_000);

  it('starts neither the development provider nor the console in production', async () => {
    const running = await start({ env: { NODE_ENV: 'production' }, surfaces: [stubSurface(1), pages] });
    expect(readDev()).not.toHaveProperty('console');
    expect(said).toContain('NODE_ENV is production: the development provider is off, and sign-in is not possible.');
    expect(running.screen).not.toContain('Sign-in');
    expect(readDev()).not.toHaveProperty('oidc');
    expect(readDev().demo).not.toHaveProperty('people');
    expect(await isPortFree(portBase + 80)).toBe(true);
  }, 60_000);

  it('reports an exited surface, and keeps the rest running', async () => {
    await start();
    const dev = readDev();
    await fetch(`${dev.surfaces['stub-1']?.url}/die`).catch(() => undefined);
    await until(() => said.some((line) => line.startsWith('stub-1 exited (exit code 3); the rest keeps running.')));
    expect(isAlive(dev.surfaces['stub-4']?.pid ?? 0)).toBe(true);
    await ask(`${dev.surfaces['stub-4']?.url}/`);
  }, 60_000);

  it('fails with the reason of a surface that does not start, and stops everything', async () => {
    const failing = start({ surfaces: [stubSurface(1), stubSurface(4, { FAIL_WITH: 'PORT is no number' })] });
    await expect(failing).rejects.toThrow(
      `stub-4 did not start (exit code 1): PORT is no number. Its log is ${join(data, 'logs/stub-4.log')}.`,
    );
    for (const port of [1, 4, 90]) expect(await isPortFree(portBase + port)).toBe(true);
    expect(existsSync(join(data, 'lock.json'))).toBe(false);
  }, 60_000);

  it('stops if it is interrupted before it is ready', async () => {
    const asked = new AbortController();
    asked.abort();
    await expect(start({ signal: asked.signal })).rejects.toThrow('Stopped before everything was ready.');
    expect(existsSync(join(data, 'lock.json'))).toBe(false);
  }, 60_000);

  it('lists all ports in use before anything is started', async () => {
    data = join(folder, 'never');
    const server = createServer();
    await new Promise<void>((done) => server.listen(portBase + 54, '127.0.0.1', done));
    await expect(start()).rejects.toThrow(
      `The port ${portBase + 54} for stub-4 (ops) is in use. Choose others with --port-base N.`,
    );
    server.close();
    expect(existsSync(data)).toBe(false);
  });

  it('reports a file in place of the folder, a full disk, a read-only disk, and invalid data', async () => {
    data = join(folder, 'unusable');
    writeFileSync(join(folder, 'file'), '');
    await expect(start({}, { data: join(folder, 'file') })).rejects.toThrow(
      `${join(folder, 'file')} is a file, not a folder. Choose another with --data.`,
    );
    mkdirSync(join(data, 'postgres'), { recursive: true });
    writeFileSync(join(data, 'secrets.json'), '{');
    await expect(start()).rejects.toThrow(
      `${join(data, 'secrets.json')} is broken. Restore it, or start with --fresh, which removes all data.`,
    );
    rmSync(join(data, 'secrets.json'));
    writeFileSync(join(data, 'postgres/stray'), 'x');
    await expect(start()).rejects.toThrow(/postgres is not empty and holds no PostgreSQL cluster/);
    rmSync(data, { recursive: true });
    const disk = smallDisk(8, 'npm start on a full disk, on a read-only disk');
    if (disk === undefined) return;
    try {
      await expect(start({}, { data: join(disk.path, 'data') })).rejects.toThrow(
        /^The disk that holds .* is full: [78] MiB are free and 160 are needed\. Free some space and start again\.$/,
      );
      disk.makeReadOnly();
      await expect(start({}, { data: join(disk.path, 'data') })).rejects.toThrow(/is on a read-only file system/);
    } finally {
      disk.release();
    }
  }, 60_000);

  it('does not remove an external database', async () => {
    const env = { DATABASE_URL: 'postgresql://localhost/x' };
    await expect(start({ env }, { fresh: true })).rejects.toThrow(
      /^--fresh cannot remove the data in an external DATABASE_URL/,
    );
  });

  it('stops the orphans of a killed start, and no process with a reused pid', async () => {
    const left = await startProcess([join(import.meta.dirname, 'stub-surface.fixture.mjs')], {
      PORT: String(await freePort()),
      OPS_PORT: String(await freePort()),
      ADMIN_PORT: String(await freePort()),
    });
    const stranger = await startProcess(['--eval', 'setInterval(() => {}, 1000)'], {});
    mkdirSync(data, { recursive: true });
    const mark = join(import.meta.dirname, 'stub-surface.fixture.mjs');
    const processes = [left, stranger].map((pid) => ({ pid, mark, name: 'stub', logFile: '/x' }));
    writeFileSync(join(data, 'run.json'), JSON.stringify({ processes }));
    await start();
    expect(said).toContain('Stopped 1 orphaned process of an earlier start.');
    expect(await waitUntilGone(left, 5_000)).toBe(true);
    expect(isAlive(stranger)).toBe(true);
  }, 60_000);

  const startProcess = async (parameters: string[], env: Record<string, string>): Promise<number> => {
    const child = spawn(process.execPath, parameters, { env, stdio: 'ignore' });
    others.push(child);
    const pid = child.pid ?? 0;
    await until(() => commandLineOf(pid).includes(parameters[0] ?? ''));
    return pid;
  };
});

const surfaceAt = (base: number, number: number): object => ({
  url: `http://127.0.0.1:${base + number}`,
  opsUrl: `http://127.0.0.1:${base + 50 + number}`,
  adminUrl: `http://127.0.0.1:${base + 100 + number}`,
  pid: expect.any(Number),
});

async function ask(url: string): Promise<{ databaseUrl: string; variables: string[] }> {
  const response = await fetch(url);
  return JSON.parse(await response.text());
}
