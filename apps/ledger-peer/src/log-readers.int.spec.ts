import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, createServer, request, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { ServerSecrets } from '@sealgate/auth';
import type { EmbeddedLedger, Integrator } from '@sealgate/ledger-embedded';
import { entriesOf, generateNoteKey } from '@sealgate/merkle';
import { cursorCodec } from '@sealgate/paging';
import type { Database } from '@sealgate/storage';
import { until } from '@sealgate/testing';
import { embeddedAssets, embeddedLog } from './data/embedded-assets.ts';
import { assetRoutes } from './routes/assets.ts';
import { publicLogRoutes } from './routes/public-log.ts';
import { openTestLog, testApp } from './testing/open-test-log.ts';
import { anyMapping, openTestDatabase, testPeer, type TestDatabase, type TestPeer } from './testing/open-test-peer.ts';

const ORIGIN = 'ledger.test';
const CHANNEL = 'acme.main';
const READERS = 40;
const WRITES = 30;

let database: TestDatabase;
let ledger: EmbeddedLedger;
let integrator: Integrator;
let peer: TestPeer;
let server: Server;
let port: number;
let folder: string;
const agent = new Agent({ keepAlive: true, maxSockets: READERS + 1 });
/** Bundles that were read from the database, by their first and last index. */
const bundlesRead: string[] = [];

beforeAll(async () => {
  database = await openTestDatabase();
  folder = mkdtempSync(`${tmpdir()}/peer-checkpoints-`);
  const { sql } = database;
  const look: Database = {
    ...sql,
    query: (statement, options) => {
      const { name, values = [] } = statement;
      if (name === 'ledger entries' && values[2] !== 0)
        bundlesRead.push(`${values[1] as number}-${values[2] as number}`);
      return sql.query(statement, options);
    },
  };
  const keys = [generateNoteKey(ORIGIN)];
  const opening = { sql, look, origin: ORIGIN, folder, signing: keys, believed: keys };
  ({ integrator, ledger } = await openTestLog(opening));
  const assets = embeddedAssets({ ledger, sql, settleWithinMs: 1000 });
  peer = testPeer({ sql, ledger: assets, owner: 'readers' });
  const log = embeddedLog(ledger, ORIGIN);
  const cursors = cursorCodec({ hasher: ServerSecrets.parse(`s1:${'s'.repeat(32)}`).derive('cursors'), now: Date.now });
  const app = testApp({
    keyHash: '',
    isOpen: true,
    compress: true,
    routes: [
      ...assetRoutes({
        reading: { ledger: assets, mappings: anyMapping, log, cursors },
        answerSync: peer.answer,
        bodyMaxBytes: 1_048_576,
        nextTurn: () => Promise.resolve(),
      }),
      ...publicLogRoutes({ log, mappings: anyMapping, isOpen: () => true, showsEntries: () => true }),
    ],
  });
  server = createServer(app);
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  ({ port } = server.address() as AddressInfo);
}, 120_000);

afterAll(async () => {
  agent.destroy();
  server.closeAllConnections();
  server.close();
  await peer.close();
  await integrator.stop();
  await ledger.drain();
  await database.close();
  rmSync(folder, { recursive: true });
});

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

function call(method: string, path: string, headers: Record<string, string>, sent?: unknown): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asking = request({ port, host: '127.0.0.1', agent, method, path, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        resolve({ status: response.statusCode!, headers: response.headers, body: Buffer.concat(chunks) }),
      );
    });
    asking.on('error', reject);
    asking.end(sent === undefined ? undefined : JSON.stringify(sent));
  });
}

const write = (assets: readonly object[]) =>
  call('POST', '/api/assets', { 'Content-Type': 'application/json' }, { assets });
const assetOf = (id: string) => ({ id, type: 'asset', data: { of: id } });

it('answers forty connections that read entries without a pause from one read, while assets are written', async () => {
  const first = Array.from({ length: 256 }, (_, n) => assetOf(`a${n}`));
  expect((await write(first)).status).toBe(200);
  await until(async () => (await ledger.checkpoint(CHANNEL))?.includes('\n256\n') === true);

  let isOver = false;
  const sizes = new Set<number>();
  const readers = Array.from({ length: READERS }, async () => {
    let reads = 0;
    for (; !isOver; reads += 1) {
      const answer = await call('GET', `/ledger/${CHANNEL}/tile/entries/000`, { 'Accept-Encoding': 'gzip' });
      expect(answer.status).toBe(200);
      const isCompressed = answer.headers['content-encoding'] === 'gzip';
      sizes.add(entriesOf(isCompressed ? gunzipSync(answer.body) : answer.body).length);
    }
    return reads;
  });
  for (let n = 0; n < WRITES; n += 1) {
    const answer = await write([assetOf(`w${n}`)]);
    expect([answer.status, JSON.parse(answer.body.toString())]).toMatchObject([200, { summary: { succeeded: 1 } }]);
  }
  isOver = true;
  const reads = await Promise.all(readers);
  expect(Math.min(...reads)).toBeGreaterThan(0);
  expect(sizes).toEqual(new Set([256]));
  expect(bundlesRead).toEqual(['0-256']);
}, 60_000);
