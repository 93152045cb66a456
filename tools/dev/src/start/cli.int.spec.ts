import { spawn, spawnSync, type SpawnSyncReturns } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { isAlive, removeCluster, waitUntilGone } from '@sealgate/local-services';
import { seedBundles, until } from '@sealgate/testing';
import { workspaceRoot } from '../workspace.ts';
import { demoStories, rememberDemo, visitDemo } from './demo.fixture.ts';
import type { DevFile } from './dev-file.ts';
import { freePortBase } from './free-port-base.fixture.ts';

const bootstrap = join(workspaceRoot, 'tools/dev/bootstrap.mjs');
const nobody = 65_534;
const few = ['--surfaces', 'ingest-gateway,ledger-peer'];

interface Place {
  readonly folder: string;
  readonly data: string;
  readonly portBase: number;
}

/**
 * `npm start` as a program. A start of everything takes ten seconds of CPU, so each story goes on where the one before
 * it has left off, and those about the start itself run few surfaces.
 */
describe('npm start, npm stop', () => {
  let place: Place;
  const env = { PATH: process.env['PATH'], HOME: tmpdir() };
  const call = (parameters: readonly string[], who: { uid?: number; gid?: number } = {}): SpawnSyncReturns<string> =>
    spawnSync(process.execPath, [bootstrap, ...parameters], { encoding: 'utf8', env, timeout: 240_000, ...who });
  const options = ({ data, portBase }: Place): string[] => [
    '--data',
    data,
    '--port-base',
    String(portBase),
    '--no-redis',
  ];
  const readDev = ({ data }: Place): DevFile => JSON.parse(readFileSync(join(data, 'dev.json'), 'utf8'));
  const holderOf = ({ data }: Place): number => JSON.parse(readFileSync(join(data, 'lock.json'), 'utf8')).pid;
  const postgresOf = ({ data }: Place): number => {
    const moved = join(data, 'postgres/moved-to.json');
    const cluster: string = existsSync(moved)
      ? JSON.parse(readFileSync(moved, 'utf8')).cluster
      : join(data, 'postgres');
    return Number(readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')[0]);
  };
  const everyPid = (where: Place): number[] => [
    holderOf(where),
    postgresOf(where),
    ...Object.values(readDev(where).surfaces).map(({ pid }) => pid),
    ...[readDev(where).console ?? []].flat().map(({ pid }) => pid),
  ];

  beforeAll(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sealgate-cli-'));
    chmodSync(folder, 0o755);
    place = { folder, data: join(folder, 'data'), portBase: await freePortBase() };
    await seedBundles(workspaceRoot, place.data);
  }, 900_000);
  afterAll(() => {
    call(['stop', '--data', place.data]);
    if (existsSync(join(place.data, 'postgres'))) removeCluster(join(place.data, 'postgres'));
    rmSync(place.folder, { recursive: true, force: true });
  });

  it('detaches once everything is ready, prints working examples, and starts once on a folder', async () => {
    const started = call(['start', '--detach', ...options(place)]);
    expect(started.stderr).toBe('');
    expect(started.status).toBe(0);
    expect(started.stdout).toContain(`Running in the background; stop it with \`npm stop -- --data ${place.data}\`.`);
    expect(started.stdout).toContain(`Sign-in     http://127.0.0.1:${place.portBase + 80}`);
    for (const name of ['dev.json', 'secrets.json']) expect(statSync(join(place.data, name)).mode & 0o777).toBe(0o600);

    const lines = started.stdout.split('\n').map((line) => line.trim());
    const curls = lines.filter((line) => line.startsWith('curl '));
    expect(curls).toHaveLength(3);
    for (const line of curls) {
      await until(
        () => spawnSync('sh', ['-c', line.replace('curl ', 'curl --fail ')], { cwd: place.folder, env }).status === 0,
        { what: line },
      );
    }
    const check = lines.find((line) => line.startsWith('npx sealgate-verify ')) ?? '';
    const program = `${process.execPath} ${join(workspaceRoot, 'tools/verify/bin/sealgate-verify.mjs')}`;
    const checked = spawnSync('sh', ['-c', check.replace('npx sealgate-verify', program)], {
      cwd: place.folder,
      env,
      encoding: 'utf8',
    });
    expect({ status: checked.status, stderr: checked.stderr }).toEqual({ status: 0, stderr: '' });

    const again = call(['start', '--detach', ...options(place)]);
    expect(again.status).toBe(1);
    expect(again.stderr.trim()).toBe(
      `Sealgate already runs on ${place.data} (process ${holderOf(place)}). Stop it with \`npm stop -- --data ${place.data}\`, or choose another folder with --data.`,
    );

    const log = readFileSync(join(place.data, 'logs/start.log'), 'utf8');
    expect(log).toContain('Ready.');
    const dev = readDev(place);
    for (const secret of [dev.adminToken, ...Object.values(dev.demo.keys)]) expect(log).not.toContain(secret);

    const elsewhere = join(place.folder, 'elsewhere');
    expect(call(['start', '--detach', ...options({ ...place, data: elsewhere })])).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/^The ports .* are in use\. Choose others with --port-base N\.\n$/),
    });
    expect(existsSync(elsewhere)).toBe(false);
    await visitDemo(dev);
  }, 900_000);

  demoStories();

  it('reports an exited surface, can be stopped, and is the same after a restart', async () => {
    const expectSame = await rememberDemo();
    const { pid = 0 } = readDev(place).surfaces['ingest-gateway'] ?? {};
    process.kill(pid, 'SIGKILL');
    expect(await waitUntilGone(pid, 10_000)).toBe(true);
    expect(call(['start', '--detach', ...options(place)]).stderr.trim()).toBe(
      `Sealgate already runs on ${place.data} (process ${holderOf(place)}), but ingest-gateway has exited since (its log is ` +
        `${join(place.data, 'logs/ingest-gateway.log')}). To restart it: \`npm stop -- --data ${place.data}\`, then ` +
        `\`npm start -- --data ${place.data}\`.`,
    );

    const pids = everyPid(place);
    const stopped = call(['stop', '--data', place.data]);
    expect({ status: stopped.status, stdout: stopped.stdout }).toEqual({ status: 0, stdout: 'Stopped.\n' });
    expect(pids.filter((one) => isAlive(one))).toEqual([]);
    expect(call(['stop', '--data', place.data])).toMatchObject({
      status: 0,
      stdout: `Nothing is running in ${place.data}.\n`,
    });

    expect(call(['start', '--detach', ...options(place)])).toMatchObject({ status: 0, stderr: '' });
    await expectSame(readDev(place));
  }, 900_000);

  it('restarts with its data after everything was killed', async () => {
    const before = readDev(place);
    const { url = '', adminUrl = '' } = before.surfaces['ingest-gateway'] ?? {};
    const written = await fetch(`${url}/demo`, {
      method: 'POST',
      headers: { 'x-api-key': before.demo.keys['ingest'] ?? '', 'content-type': 'application/json' },
      body: JSON.stringify({ id: 'before-the-kill', data: { kept: true } }),
    });
    expect(written.status).toBe(200);
    const pids = everyPid(place);
    for (const pid of pids) process.kill(pid, 'SIGKILL');
    for (const pid of pids) expect(await waitUntilGone(pid, 10_000)).toBe(true);
    const started = call(['start', '--detach', ...options(place)]);
    expect(started.stderr).toBe('');
    expect(started.status).toBe(0);
    expect(readDev(place).demo).toEqual(before.demo);
    const read = await fetch(`${adminUrl}/admin/v1/ledger/channels/demo.main/records/before-the-kill`, {
      headers: { authorization: `Bearer ${before.adminToken}` },
    });
    expect(await read.json()).toMatchObject({ id: 'before-the-kill', data: { kept: true } });
  }, 900_000);

  it('restarts if only the start itself was killed, by stopping the orphans', async () => {
    const [holder = 0, ...left] = everyPid(place);
    process.kill(holder, 'SIGKILL');
    expect(await waitUntilGone(holder, 10_000)).toBe(true);
    const started = call(['start', '--detach', ...options(place), ...few]);
    expect(started.stdout).toContain(`Stopped ${left.length} orphaned processes of an earlier start.`);
    expect(started.status).toBe(0);
    expect(left.filter((pid) => isAlive(pid))).toEqual([]);
    expect(call(['stop', '--data', place.data]).status).toBe(0);
  }, 900_000);

  it('stops everything on Ctrl-C, in the foreground', async () => {
    const child = spawn(process.execPath, [bootstrap, 'start', ...options(place), ...few], {
      env,
      detached: true,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let said = '';
    child.stdout.on('data', (chunk) => (said += String(chunk)));
    await until(() => said.includes('Sealgate is ready. Ctrl-C stops it.'), { timeoutMs: 60_000, what: 'the start' });
    const pids = everyPid(place);
    expect(pids).toHaveLength(4);
    // Like a terminal: every process of the foreground group gets the signal.
    process.kill(-(child.pid ?? 0), 'SIGINT');
    const code = await new Promise((done) => child.once('exit', done));
    expect(code).toBe(0);
    expect(said).toMatch(/Stopping\nStopped\.\n$/);
    expect(pids.filter((pid) => isAlive(pid))).toEqual([]);
  }, 900_000);

  it('rejects unknown options in one sentence', () => {
    expect(call(['start', '--fast'])).toMatchObject({
      status: 1,
      stdout: '',
      stderr: "Unknown option '--fast'. `npm start -- --help` lists the options.\n",
    });
    expect(call(['start', '--help'])).toMatchObject({ status: 0, stdout: expect.stringContaining('--port-base N') });
  });

  it('runs as a plain user, and reports a read-only folder', async () => {
    if (process.getuid?.() !== 0) return;
    const who = { uid: nobody, gid: nobody };
    const own = { folder: place.folder, data: join(place.folder, 'own/data'), portBase: await freePortBase() };
    await seedBundles(workspaceRoot, own.data);
    spawnSync('chown', ['-R', `${nobody}:${nobody}`, join(place.folder, 'own')]);
    const started = call(['start', '--detach', ...options(own), ...few], who);
    if (
      started.error !== undefined ||
      /EACCES: permission denied.*(?:bootstrap|package-lock)|Cannot find module/.test(started.stderr)
    ) {
      process.stderr.write('NOT TESTED: npm start as a plain user: that user cannot read this checkout.\n');
      return;
    }
    expect(started.stderr).toBe('');
    expect(started.status).toBe(0);
    expect(call(['stop', '--data', own.data], who)).toMatchObject({ status: 0, stdout: 'Stopped.\n' });
    mkdirSync(join(place.folder, 'closed'), { mode: 0o700 });
    const refused = call(['start', '--detach', ...options({ ...own, data: join(place.folder, 'closed/data') })], who);
    expect(refused).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(
        /^\S*closed\/data cannot be written by this user\. Choose a folder that can be written\.\n$/,
      ),
    });
  }, 900_000);
});
