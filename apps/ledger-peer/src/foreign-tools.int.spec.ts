import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { receiptLogProof } from '@sealgate/envelope';
import type { EmbeddedLedger, Integrator } from '@sealgate/ledger-embedded';
import { checkLogKeys, generateNoteKey, noteSigner, noteVerifier, parseCheckpoint } from '@sealgate/merkle';
import { until } from '@sealgate/testing';
import { embeddedLog } from './data/embedded-assets.ts';
import { parseMappings } from './domain/parse-mappings.ts';
import { publicLogRoutes } from './routes/public-log.ts';
import { openTestLog, testApp } from './testing/open-test-log.ts';
import { openTestDatabase, type TestDatabase } from './testing/open-test-peer.ts';

const hasGo = spawnSync('go', ['version']).status === 0;
if (!hasGo) process.emitWarning('SKIPPED: no go on the PATH, so the log is not checked with third-party tools.');

const ORIGIN = 'ledger.test/sealgate';
const CHANNEL = 'acme.main';
const OTHER = 'acme.other';
const SIZES = [1, 255, 256, 257];
const LARGE_SIZES = process.env['SEALGATE_FULL'] === '1' ? [65_536, 70_000] : [];
const BUILD_WITHIN_MS = 900_000;
const RUN_WITHIN_MS = 240_000;

const run = promisify(execFile);
const mapping = { mappings: [{ type: '*', channel: CHANNEL, chaincode: 'records' }] };
const key = generateNoteKey(ORIGIN);
const next = generateNoteKey(ORIGIN);
/** The signing root keys, the first one first. */
let signing = [key];

let folder: string;
let database: TestDatabase;
let integrator: Integrator;
let ledger: EmbeddedLedger;
let server: Server;
let url: string;
let restart: () => Promise<void>;
let written = 0;
/** What a test puts between the tools and the log. */
let between: ((listener: RequestListener) => RequestListener) | undefined;

/** Like a new process: only the database and the checkpoint folder remain. */
async function openLedger(): Promise<RequestListener> {
  const checkpoints = join(folder, 'checkpoints');
  const keys = { signing, believed: [key, next] };
  ({ integrator, ledger } = await openTestLog({ sql: database.sql, origin: ORIGIN, folder: checkpoints, ...keys }));
  const routes = publicLogRoutes({
    log: embeddedLog(ledger, ORIGIN),
    mappings: parseMappings(JSON.stringify(mapping), { driver: 'embedded', defaultChannel: undefined }),
    isOpen: () => true,
    showsEntries: (channel) => channel === CHANNEL,
  });
  return testApp({ routes, keyHash: 'ab'.repeat(32), isOpen: true, compress: true });
}

/** Writes records until the log has this size, and waits until they are signed for. */
async function grow(size: number): Promise<void> {
  while (written < size) {
    const count = Math.min(500, size - written);
    const records = Array.from({ length: count }, (_, n) => ({
      id: `r${written + n}`,
      type: n % 7 === 0 ? 'ärger "\\' : 'asset',
      owner: n % 2 === 0 ? null : 'Zoë',
      data: `{"n":${n}}`,
      extra: null,
    }));
    await ledger.append({ network: 'acme', channel: CHANNEL, note: '{}', records });
    written += count;
  }
  await signed(CHANNEL, size);
}

/** If a round of the integrator is running on the log, `catchUp` leaves it to that. */
async function signed(channel: string, size: number): Promise<void> {
  await integrator.catchUp(channel, size);
  await until(async () => parseCheckpoint((await ledger.checkpoint(channel)) ?? '').size >= size);
}

/** torchwood requires all log lines of one policy, so each log has its own policy; one match is enough. */
async function checkByPolicies(channel: string, keys: readonly string[]): Promise<string> {
  const files = keys.map((vkey, at) => {
    const file = join(folder, `${at}.policy`);
    writeFileSync(file, `log ${vkey}\nquorum none\n`);
    return file;
  });
  const args = ['policy', url.replace(CHANNEL, channel), ...files];
  return (await run(join(folder, 'foreign-tools'), args, { timeout: RUN_WITHIN_MS })).stdout.trim();
}
const logKey = (channel: string, root = key) => noteSigner(root.privateKey).ofLog(`${ORIGIN}/${channel}`).logKeys[0]!;
/** The log's keys from a statement signed by the root key, as an outsider reads them. */
async function statedKeys(channel: string, root = key): Promise<string[]> {
  const note = await (await fetch(`${url.replace(CHANNEL, channel)}key`)).text();
  const verdict = checkLogKeys(noteVerifier(root.verifierKey), note, Date.now());
  if (verdict.problem !== undefined) throw new Error(verdict.problem);
  return verdict.keys.map(({ verifierKey }) => verifierKey);
}

const fsck = () =>
  run(
    join(folder, 'fsck'),
    [
      ...['--ui=false', '--alsologtostderr', '-v=1', '-N=2', `--storage_url=${url}`],
      ...[`--origin=${ORIGIN}/${CHANNEL}`, `--public_key=${join(folder, 'log.vkey')}`],
    ],
    { timeout: RUN_WITHIN_MS, maxBuffer: 64 * 1024 * 1024 },
  );

async function readWithOthers(size: number): Promise<string> {
  const proved = (await ledger.prove(CHANNEL, `r${size - 1}`))!;
  writeFileSync(join(folder, 'record.tlog-proof'), receiptLogProof(proved));
  const args = [url, `${ORIGIN}/${CHANNEL}`, key.verifierKey, join(folder, 'record.tlog-proof'), String(size)];
  return (await run(join(folder, 'foreign-tools'), args, { timeout: RUN_WITHIN_MS })).stdout.trim();
}

(hasGo ? describe : describe.skip)('the log, checked with unmodified third-party tools', () => {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sealgate-foreign-'));
    writeFileSync(join(folder, 'log.vkey'), key.verifierKey);
    const build = { cwd: join(import.meta.dirname, 'testing/foreign-tools'), timeout: BUILD_WITHIN_MS };
    await run('go', ['build', '-o', join(folder, 'foreign-tools'), '.'], build);
    await run('go', ['build', '-o', join(folder, 'fsck'), 'github.com/transparency-dev/tessera/cmd/fsck'], build);
    database = await openTestDatabase();
    let app = await openLedger();
    server = createServer((request, response) => (between?.(app) ?? app)(request, response)).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/ledger/${CHANNEL}/`;
    const records = ['a', 'b', 'c'].map((id) => ({ id, type: 'asset', owner: null, data: '{}', extra: null }));
    await ledger.append({ network: 'acme', channel: OTHER, note: '{}', records });
    await signed(OTHER, 3);
    restart = async () => {
      await integrator.stop();
      await ledger.drain();
      app = await openLedger();
    };
  }, BUILD_WITHIN_MS);

  afterAll(async () => {
    server?.close();
    await integrator?.stop();
    await ledger?.drain();
    await database?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const passes = async (size: number) => {
    const { stderr } = await fsck();
    expect(stderr).toContain('Completed ranges');
    expect(stderr).not.toContain('fsck failed');
    expect(await readWithOthers(size)).toBe(String(size));
    const keys = [...(await statedKeys(CHANNEL)), ...(await statedKeys(OTHER))];
    expect(await checkByPolicies(CHANNEL, keys)).toBe(`${ORIGIN}/${CHANNEL} ${size}`);
    expect(await checkByPolicies(OTHER, keys)).toBe(`${ORIGIN}/${OTHER} 3`);
  };

  it.each(SIZES)(
    'is valid at %i entries: fsck of tessera, the client and proofs of torchwood, formats, note and tlog',
    async (size) => {
      await grow(size);
      await passes(size);
    },
    2 * RUN_WITHIN_MS,
  );

  it(
    'is valid after an erasure and in a new process',
    async () => {
      expect(await ledger.erase(CHANNEL, 'r7', 'asked for')).toBe(true);
      await restart();
      await passes(written);
    },
    2 * RUN_WITHIN_MS,
  );

  it(
    'accepts a log by its own key only, and survives a rotation of the root key',
    async () => {
      await expect(checkByPolicies(CHANNEL, [logKey(OTHER)])).rejects.toMatchObject({ code: 1 });
      await expect(checkByPolicies(CHANNEL, [logKey(CHANNEL, next)])).rejects.toMatchObject({ code: 1 });
      const turn = async (roots: (typeof key)[]) => {
        signing = roots;
        await restart();
        await grow(written + 1);
      };
      const told = () => `${ORIGIN}/${CHANNEL} ${written}`;
      await turn([next, key]);
      // Clients that know the old key of the log, the new one, or both.
      for (const keys of [[logKey(CHANNEL)], [logKey(CHANNEL, next)], await statedKeys(CHANNEL)])
        expect(await checkByPolicies(CHANNEL, [...keys, logKey(OTHER)])).toBe(told());
      await passes(written);
      await turn([next]);
      expect(await statedKeys(CHANNEL)).toEqual([logKey(CHANNEL, next), logKey(CHANNEL)]);
      expect(await statedKeys(CHANNEL, next)).toEqual(await statedKeys(CHANNEL));
      expect(await checkByPolicies(CHANNEL, await statedKeys(CHANNEL))).toBe(told());
      await expect(checkByPolicies(CHANNEL, [logKey(CHANNEL)])).rejects.toMatchObject({ code: 1 });
      await turn([next, key]);
      await passes(written);
    },
    4 * RUN_WITHIN_MS,
  );

  it.each([
    ['an entry is another one', 'tile/entries/000', (bytes: Buffer) => bytes.fill('x', 40, 41)],
    ['a hash is another one', 'tile/0/000', (bytes: Buffer) => bytes.fill(7, 40, 41)],
  ])(
    'is reported as invalid if %s',
    async (_, path, edit) => {
      const asServed = Buffer.from(await (await fetch(url + path)).arrayBuffer());
      between = (listener) => (request, response) => {
        if (request.url?.endsWith(path) !== true) return listener(request, response);
        response.end(edit(Buffer.from(asServed)));
      };
      try {
        expect((await fsck()).stderr).toContain('fsck failed');
        await expect(readWithOthers(written)).rejects.toMatchObject({ code: 1 });
      } finally {
        between = undefined;
      }
    },
    2 * RUN_WITHIN_MS,
  );

  // After the faults: over many entries fsck does not always end once it has failed.
  for (const size of LARGE_SIZES) {
    it(
      `is valid at ${size} entries, too`,
      async () => {
        await grow(size);
        await passes(size);
      },
      2 * RUN_WITHIN_MS,
    );
  }
});
