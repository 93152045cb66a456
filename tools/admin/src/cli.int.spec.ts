import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sha256 } from '@sealgate/json';
import { freePort } from '@sealgate/local-services';
import { generateNoteKey } from '@sealgate/merkle';
import { openDatabase } from '@sealgate/storage';
import { throwawayPostgres, until, type ThrowawayPostgres } from '@sealgate/testing';
import { runLine } from './testing/run-line.ts';

const workspace = join(import.meta.dirname, '../../..');
const gatewaySources = join(workspace, 'apps/ingest-gateway/src');
const token = randomBytes(24).toString('base64url');
const noteKey = generateNoteKey('log.example/test');

let database: ThrowawayPostgres;
let folder: string;
let gateway: ChildProcess;
let publicUrl: string;
let said = '';

beforeAll(async () => {
  database = await throwawayPostgres();
  folder = mkdtempSync(join(tmpdir(), 'sealgate-cli-'));
  for (const name of ['.sealgate', 'checkpoints']) mkdirSync(join(folder, name));
  const [port, opsPort, adminPort] = [await freePort(), await freePort(), await freePort()];
  const base = { PATH: process.env['PATH'] };
  const migrated = spawnSync(process.execPath, [join(gatewaySources, 'migrate.ts')], {
    encoding: 'utf8',
    env: { ...base, MIGRATION_DATABASE_URL: database.url },
  });
  expect(migrated).toMatchObject({ status: 0 });
  gateway = spawn(process.execPath, [join(gatewaySources, 'main.ts')], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...base,
      PORT: String(port),
      OPS_PORT: String(opsPort),
      ADMIN_PORT: String(adminPort),
      ADMIN_TOKEN_HASHES: sha256(token).toString('hex'),
      SERVER_SECRETS: `s1:${randomBytes(32).toString('base64url')}`,
      DATABASE_URL: database.url,
      LEDGER_DRIVER: 'embedded',
      LEDGER_ORIGIN: 'log.example/test',
      LEDGER_INTEGRATOR: 'true',
      LEDGER_SIGNING_KEY: noteKey.privateKey,
      CHECKPOINT_DIR: join(folder, 'checkpoints'),
    },
  });
  for (const stream of [gateway.stdout, gateway.stderr]) stream?.on('data', (chunk) => (said += String(chunk)));
  publicUrl = `http://127.0.0.1:${port}`;
  const ready = async () => (await fetch(`http://127.0.0.1:${opsPort}/health/ready`)).ok;
  await until(ready, { timeoutMs: 30_000, what: 'the gateway' }).catch((error: unknown) => {
    throw new Error(said, { cause: error });
  });
  const adminUrl = `http://127.0.0.1:${adminPort}`;
  const dev = { adminToken: token, surfaces: { 'ingest-gateway': { adminUrl } } };
  writeFileSync(join(folder, '.sealgate/dev.json'), JSON.stringify(dev), { mode: 0o600 });
}, 90_000);

afterAll(async () => {
  const ended = gateway.exitCode === null ? once(gateway, 'exit') : undefined;
  gateway.kill('SIGTERM');
  await ended;
  await database.stop();
  rmSync(folder, { recursive: true });
}, 60_000);

/** Runs a line as in a checkout with a running gateway. */
const run = (line: string) => runLine(line, { directory: folder });

async function json(line: string): Promise<Record<string, unknown>> {
  const { code, out, err } = await run(`${line} --json`);
  expect({ line, code, err }).toEqual({ line, code: 0, err: '' });
  return JSON.parse(out);
}

async function write(rawKey: string, body: object): Promise<Response> {
  const headers = { 'Content-Type': 'application/json', 'X-Api-Key': rawKey };
  return fetch(`${publicUrl}/acme`, { method: 'POST', headers, body: JSON.stringify(body) });
}

describe('sealgate on a gateway', () => {
  let rawKey = '';
  let keyId = '';

  it('creates, lists, reads and changes a network', async () => {
    const made = await run("networks create acme --name 'Acme Ltd' --channel main --channel returns");
    expect(made).toMatchObject({ code: 0, err: '', out: expect.stringContaining('The network was created.') });
    expect(await json('networks get acme')).toMatchObject({ name: 'Acme Ltd', channels: ['main', 'returns'] });
    const limits = { ratePerSecond: 50, burst: 500 };
    expect(await json('networks change acme --rate 50 --burst 500 --no-name')).toMatchObject({ name: null, limits });
    const back = await json('networks change acme --default-limits');
    expect(back['limits']).toEqual({ ratePerSecond: 1000, burst: 2000 });
    expect((await run('networks list')).out).toMatch(/^NETWORK .*\nacme +- +main, returns +1000 +2000 +\S+Z\n$/);
  });

  it('prints rejections of the gateway', async () => {
    const again = await run('networks create acme');
    expect(again).toMatchObject({ code: 1, out: '', err: expect.stringContaining('409 ALREADY_EXISTS') });
    const small = await run('networks change acme --rate 1 --burst 1');
    expect(small.err).toMatch(
      /^sealgate: rejected with 400 INVALID_REQUEST: .*\n {2}body \/limits\/burst: .*\n {2}request id: \S+\n$/,
    );
    expect(await run('networks get nobody')).toMatchObject({ code: 1, err: expect.stringContaining('404 NOT_FOUND') });
    expect(await run('events list --limit 201')).toMatchObject({
      code: 1,
      err: expect.stringContaining('INVALID_LIMIT'),
    });
    expect(await run('events list --cursor x')).toMatchObject({
      code: 1,
      err: expect.stringContaining('INVALID_CURSOR'),
    });
    expect(await run('events list --from yesterday')).toMatchObject({
      code: 1,
      err: expect.stringContaining('query /from'),
    });
    const stranger = await run('networks list --token x');
    expect(stranger).toMatchObject({ code: 1, err: expect.stringContaining('the token is from --token') });
    const problem = JSON.parse((await run('keys get acme key_none --json')).err);
    expect(problem).toMatchObject({ status: 404, code: 'NOT_FOUND', instance: expect.stringMatching(/^urn:request:/) });
  });

  it('shows the state of a rotation of server secrets', async () => {
    await until(async () => (await run('secrets status')).out.startsWith('s1: of 1 processes 1 use it'));
    expect(await run('secrets rotate server-secret')).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^Accept: generate a secret .*\(s1,NEW\)/),
    });
    const refused = await run('secrets status --retire s1');
    expect(refused).toMatchObject({ code: 1, out: expect.stringContaining('1 processes use s1') });
  });

  it('creates a valid key, and shows it once', async () => {
    const options =
      '--permission ingest:ping --permission ingest:write --asset-type order --expires-at 2100-01-01T00:00:00Z';
    const minted = await run(`keys mint acme --label 'till 7' ${options}`);
    expect(minted).toMatchObject({ code: 0, err: '' });
    rawKey = /^ {2}(ingest_[\w-]{43})$/m.exec(minted.out)?.[1] ?? '';
    keyId = /^id +(key_\S+)$/m.exec(minted.out)?.[1] ?? '';
    expect((await write(rawKey, { type: 'ping' })).status).toBe(200);
    expect((await write(rawKey, { type: 'other' })).status).toBe(403);
    expect(await json(`keys get acme ${keyId}`)).toMatchObject({ label: 'till 7', allowedAssetTypes: ['order'] });
    for (const line of [
      'keys list acme',
      `keys get acme ${keyId}`,
      'keys list acme --json',
      'keys list acme --all --json',
    ]) {
      const { out } = await run(line);
      expect(out).toContain(keyId);
      expect(out).not.toContain(rawKey);
    }
    const nothing = await json(
      'keys mint acme --label none --no-permissions --no-asset-types --record whole --default-type hook',
    );
    expect(nothing).toMatchObject({ permissions: [], allowedAssetTypes: [], record: 'whole', defaultType: 'hook' });
  });

  it('rotates and revokes keys', async () => {
    const first = await json('keys mint acme --label old');
    const second = await json(`keys mint acme --label new --replaces ${String(first['id'])} --overlap-seconds 60`);
    expect(second['replaces']).toBe(first['id']);
    expect((await write(String(first['rawKey']), { type: 'ping' })).status).toBe(200);
    expect((await run(`keys mint acme --label newer --replaces ${String(first['id'])}`)).err).toContain(
      'ALREADY_EXISTS',
    );
    for (const { id, rawKey: raw } of [first, second]) {
      expect(await run(`keys revoke acme ${String(id)}`)).toMatchObject({ code: 0, err: '' });
      expect((await write(String(raw), { type: 'ping' })).status).toBe(401);
    }
  });

  it('lists events with every filter, one page or all', async () => {
    for (const id of ['order-1', 'order-2', 'order/3']) {
      expect((await write(rawKey, { id, type: 'order', data: { id, note: 'Zürich' } })).status).toBe(200);
    }
    const all = await json('events list --network acme --type order --status committed --all --limit 1');
    expect(all).toMatchObject({ nextCursor: null });
    const ids = (all['items'] as { eventId: string; records: { id: string }[] }[]).map(({ records }) => records[0]?.id);
    expect(ids).toEqual(['order/3', 'order-2', 'order-1']);
    const page = await run('events list --type order --limit 2');
    expect(page.out.trimEnd().split('\n')).toHaveLength(3);
    const cursor = /--cursor (\S+)\n/.exec(page.err)?.[1] ?? '';
    expect((await run(`events list --type order --limit 2 --cursor ${cursor}`)).out.trimEnd().split('\n')).toHaveLength(
      2,
    );
    expect((await run('events list --from 2100-01-01T00:00:00Z')).out).toBe('There are no matching events.\n');
    expect((await run('events list --to 2020-01-01T00:00:00+02:00')).out).toBe('There are no matching events.\n');
    const [eventId = ''] = page.out.split('\n')[1]?.split(' ') ?? [];
    expect((await run(`events get ${eventId}`)).out).toContain('\nkind            write\n');
  });

  it('reads the ledger, and prints a proof that an outsider can verify', async () => {
    expect((await run('ledger channels')).out).toMatch(/\nacme\.main +3\nacme\.returns +0\n$/);
    expect(await json('ledger record acme.main order/3')).toMatchObject({
      id: 'order/3',
      data: { note: 'Zürich' },
      index: 2,
    });
    const files = {
      proof: join(folder, 'proof.json'),
      record: join(folder, 'record.json'),
      note: join(folder, 'note.txt'),
    };
    writeFileSync(files.proof, (await run('ledger proof acme.main order/3')).out);
    writeFileSync(files.record, (await run('ledger record acme.main order/3 --json')).out);
    writeFileSync(files.note, (await run('ledger checkpoint acme.main')).out);
    const verify = (...args: string[]) =>
      spawnSync(
        process.execPath,
        [join(workspace, 'tools/verify/bin/sealgate-verify.mjs'), ...args, '--key', noteKey.verifierKey],
        {
          encoding: 'utf8',
        },
      );
    const receipt = verify('receipt', files.proof, '--data', files.record);
    expect(receipt).toMatchObject({ status: 0, stderr: '', stdout: expect.stringContaining('Its content is proved.') });
    expect(verify('checkpoint', files.note, '--channel', 'acme.main')).toMatchObject({ status: 0, stderr: '' });
    expect(JSON.parse(readFileSync(files.proof, 'utf8'))).toHaveProperty('receipt.id', 'order/3');
  });

  it('erases a record, and leaves a channel that passes its audit', async () => {
    expect(await run("ledger erase acme.main order-2 --reason 'Request 12'")).toMatchObject({ code: 2 });
    const erased = await run("ledger erase acme.main order-2 --reason 'Request 12' --yes");
    expect(erased).toMatchObject({ code: 0, err: '', out: expect.stringMatching(/\nerased +true\n/) });
    expect(await json('ledger record acme.main order-2')).toMatchObject({ data: null, erased: true });
    expect(await json('ledger audit acme.main')).toEqual({ ok: true, size: 3, firstBadRecordId: null, problem: null });
    expect(await run('ledger audit acme.nothing')).toMatchObject({
      code: 1,
      err: expect.stringContaining('NOT_FOUND'),
    });
  });

  it('exits with 3 if an audit finds a manipulated record', async () => {
    const times = { connectTimeoutMs: 5_000, deadlineMs: 5_000 };
    const sql = openDatabase({ url: database.url, applicationName: 'intruder', maxConnections: 1, ...times });
    await sql.query({ text: `UPDATE ledger.records SET data = '{"forged":true}' WHERE id = 'order-1'` });
    await sql.close();
    const audit = await run('ledger audit acme.main');
    expect(audit).toMatchObject({ code: 3, out: expect.stringContaining('NOT ALL RECORDS') });
    // The progress is printed if it has not finished at the first poll.
    expect(audit.err).toMatch(/^(Audit aud_\w+\. .*\n(\d of 3 records \(\d+ %\)\n)+)?$/);
    expect(audit.out).toMatch(/\nfirstBadRecordId +order-1\n/);
  });

  it('deletes a network without live keys, and never reuses its id', async () => {
    expect((await run('networks delete acme --yes')).err).toContain('409 IN_USE');
    const { items } = await json('keys list acme --all');
    for (const { id } of items as { id: string }[]) expect((await run(`keys revoke acme ${id}`)).code).toBe(0);
    expect(await run('networks delete acme --yes')).toMatchObject({ code: 0, err: '' });
    expect(await run('networks delete acme --yes')).toMatchObject({ code: 0, err: '' });
    expect((await run('networks get acme')).err).toContain('404 NOT_FOUND');
    expect((await run('networks create acme')).err).toContain('409 ALREADY_EXISTS');
    expect((await run('ledger channels')).out).toContain('acme.main');
  });

  it('reports a stopped gateway', async () => {
    const ended = once(gateway, 'exit');
    gateway.kill('SIGTERM');
    await ended;
    expect(await run('networks list')).toMatchObject({ code: 4, err: expect.stringContaining('connection refused') });
  }, 60_000);
});
