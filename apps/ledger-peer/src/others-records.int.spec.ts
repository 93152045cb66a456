import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ServerSecrets } from '@sealgate/auth';
import { embeddedLedger, type EmbeddedLedger, type Integrator } from '@sealgate/ledger-embedded';
import { generateNoteKey } from '@sealgate/merkle';
import { cursorCodec } from '@sealgate/paging';
import { embeddedAssets, embeddedLog } from './data/embedded-assets.ts';
import { parseMappings } from './domain/parse-mappings.ts';
import { assetRoutes } from './routes/assets.ts';
import { publicLogRoutes } from './routes/public-log.ts';
import { openTestLog, testApp } from './testing/open-test-log.ts';
import { openTestDatabase, type TestDatabase } from './testing/open-test-peer.ts';

/** A peer that maps `asset` and `demo.*` to `acme.main`, in a database that other surfaces write to as well. */
const mapping = {
  mappings: [
    { type: 'asset', channel: 'acme.main', chaincode: 'records' },
    { type: 'demo.*', channel: 'acme.main', chaincode: 'records' },
    { type: 'demo.elsewhere', channel: 'acme.other', chaincode: 'records' },
  ],
};
const ORIGIN = 'ledger.test';

let database: TestDatabase;
let ledger: EmbeddedLedger;
let integrator: Integrator;
let server: Server;
let folder: string;
let url: string;

beforeAll(async () => {
  database = await openTestDatabase();
  folder = mkdtempSync(`${tmpdir()}/peer-checkpoints-`);
  const { sql } = database;
  const keys = [generateNoteKey(ORIGIN)];
  ({ integrator, ledger } = await openTestLog({ sql, origin: ORIGIN, folder, signing: keys, believed: keys }));
  const mappings = parseMappings(JSON.stringify(mapping), { driver: 'embedded', defaultChannel: undefined });
  const cursors = cursorCodec({
    hasher: ServerSecrets.parse(`s1:${'s'.repeat(32)}`).derive('cursors'),
    now: Date.now,
    sentIn: 'body',
  });
  const log = embeddedLog(ledger, 'ledger.test');
  const reading = { ledger: embeddedAssets({ ledger, sql, settleWithinMs: 1000 }), mappings, log, cursors };
  const app = testApp({
    keyHash: '',
    isOpen: false,
    routes: [
      ...assetRoutes({
        reading,
        answerSync: () => Promise.reject(new Error('Nothing is written here.')),
        bodyMaxBytes: 65_536,
        nextTurn: () => Promise.resolve(),
      }),
      ...publicLogRoutes({ log, mappings, isOpen: () => false, showsEntries: () => true }),
    ],
  });
  server = createServer(app);
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}, 120_000);

afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await integrator.stop();
  await ledger.drain();
  await database.close();
  rmSync(folder, { recursive: true });
});

/** A record written by another surface. */
async function written(channel: string, type: string, id: string): Promise<void> {
  const record = { id, type, owner: 'the owner', data: '{"pin":"1234"}', extra: '{"beside":"it"}' };
  await ledger.append({ network: 'acme', channel, note: '', records: [record] });
}

async function get(path: string): Promise<{ status: number; text: string }> {
  const answer = await fetch(url + path);
  return { status: answer.status, text: await answer.text() };
}

let made = 0;
const freshId = (): string => `id-${(made += 1)}`;

describe('records of other surfaces', () => {
  it.each([
    ['an unmapped type in a mapped channel', 'acme.main', 'invoice'],
    ['a type mapped to another channel', 'acme.main', 'demo.elsewhere'],
    ['a mapped type in an unmapped channel', 'gate.seals', 'asset'],
    ['neither a mapped channel nor a mapped type', 'gate.seals', 'case.sealed'],
  ])('cannot be distinguished from a missing record: %s', async (_what, channel, type) => {
    const id = freshId();
    await written(channel, type, id);
    for (const path of [
      (of: string) => `/ledger/${channel}/records/${of}/proof`,
      (of: string) => `/api/assets/${of}`,
      (of: string) => `/api/assets/${of}?type=asset`,
      (of: string) => `/api/assets/${of}?type=demo.x&proof=true`,
      (of: string) => `/api/assets/${of}?proof=true`,
    ]) {
      const absent = await get(path('absent'));
      expect(absent.status).toBe(404);
      expect(await get(path(id))).toEqual(absent);
    }
  });

  it('does not wait for a checkpoint either: the type is checked before anything is proved', async () => {
    const id = freshId();
    await written('acme.main', 'invoice', id);
    const asked: string[] = [];
    const watching = embeddedLedger({
      sql: {
        ...database.sql,
        query: (statement, options) => {
          asked.push(statement.name ?? statement.text);
          return database.sql.query(statement, options);
        },
      },
      origin: ORIGIN,
      now: Date.now,
    });
    expect(await watching.prove('acme.main', id, (type) => type === 'asset')).toBeUndefined();
    // One statement reads the record with the published checkpoint; nothing waits for one.
    expect(asked.toSorted()).toEqual(['ledger record in log']);
  });

  it('is shown if a mapping serves its channel and type', async () => {
    const id = freshId();
    await written('acme.main', 'demo.order', id);
    expect((await get(`/api/assets/${id}?type=asset`)).status).toBe(200);
    expect(JSON.parse((await get(`/ledger/acme.main/records/${id}/proof`)).text)).toMatchObject({
      receipt: { id, type: 'demo.order', owner: 'the owner', extra: { beside: 'it' } },
    });
    expect((await get(`/api/assets/${id}?proof=true`)).status).toBe(200);
  });

  it('does not hide a record of a later mapping under the same id', async () => {
    const id = freshId();
    await written('acme.main', 'invoice', id);
    await written('acme.other', 'demo.elsewhere', id);
    expect(JSON.parse((await get(`/api/assets/${id}`)).text)).toMatchObject({ id, channel: 'acme.other' });
  });

  it('can be verified by anyone: checkpoints and tiles contain only hashes', async () => {
    await written('gate.seals', 'case.sealed', freshId());
    const size = (await ledger.size('gate.seals'))!;
    await integrator.catchUp('gate.seals', size);
    expect((await get('/ledger/gate.seals/checkpoint')).text).toContain(`${ORIGIN}/gate.seals\n${size}\n`);
    expect((await get(`/ledger/gate.seals/tile/0/000.p/${size}`)).status).toBe(200);
  });
});
