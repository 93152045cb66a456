import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { Receipt } from '@sealgate/envelope';
import { createApp, type Guard } from '@sealgate/http';
import { createLog, httpMetrics, Metrics } from '@sealgate/observability';
import { expectProblem } from '@sealgate/testing';
import { PassThrough } from 'node:stream';
import request from 'supertest';
import type { PeerCaller } from '../domain/caller.ts';
import type { PublicLog } from '../domain/public-log.ts';
import { publicDescription } from '../openapi.ts';
import { anyMapping } from '../testing/open-test-peer.ts';
import { publicLogRoutes } from './public-log.ts';

const FULL = Buffer.alloc(8192, 'f');
const ENTRIES = Buffer.from('\0\u0002{}'.repeat(700));
const PARTIAL = Buffer.alloc(7 * 32, 'p');
const NOTE = 'ledger.test/acme.main\n7\nroot\n\n— key signature\n';
const NOTES: Record<string, string> = { 'acme.main': NOTE, 'acme.main/e1': NOTE.replace('acme.main', 'acme.main/e1') };
const DECLARATION = {
  type: 'sealgate.declaration.v1' as const,
  network: 'acme',
  channel: 'acme.main',
  epoch: 1,
  origin: 'ledger.test/acme.main/e1',
  lost: [{ epoch: 0, lostFrom: 7, lostUntil: 9, checkpoint: 'kept', surviving: NOTE }],
  reason: 'r',
  actor: 'a',
  at: '2030-01-02T03:04:05.678Z',
};
const LOGS = [
  { epoch: 0, origin: 'ledger.test/acme.main', declaration: null },
  { epoch: 1, origin: 'ledger.test/acme.main/e1', declaration: DECLARATION },
];
const PROVED_DECLARATION = { statement: DECLARATION, inclusionPath: [], treeSize: 1, checkpoint: 'note' };
const RECEIPT: Receipt = {
  network: 'acme',
  channel: 'acme.main',
  id: 'r1',
  type: 'asset',
  owner: null,
  dataHash: '1'.repeat(64),
  salt: '2'.repeat(64),
  extra: null,
  transactionId: '3'.repeat(64),
  at: '2030-01-02T03:04:05.678Z',
  index: 0,
};
const PROOF = {
  channel: 'acme.main',
  index: 0,
  leafHash: '',
  treeSize: 2,
  inclusionPath: ['ab'.repeat(32)],
  checkpoint: NOTE,
};
/** Built by hand from C2SP tlog-proof. */
const PROOF_FILE = `c2sp.org/tlog-proof@v1
extra ${Buffer.from(
  `{"at":"2030-01-02T03:04:05.678Z","channel":"acme.main","dataHash":"${'1'.repeat(64)}","id":"r1","network":"acme",` +
    `"owner":null,"transactionId":"${'3'.repeat(64)}","type":"asset","v":1}`,
).toString('base64')}
index 0
${Buffer.from('ab'.repeat(32), 'hex').toString('base64')}

${NOTE}`;
const etagOf = (bytes: Buffer | string): string => `"${createHash('sha256').update(bytes).digest('base64url')}"`;

const guard: Guard<PeerCaller> = {
  challenge: 'ApiKey',
  authenticate: () => Promise.resolve({ familyId: 'f', bucket: 'b', limit: 'log' }),
  permits: () => true,
  shareOf: ({ bucket }) => bucket,
  charge: () =>
    Promise.resolve({ admitted: true, headers: { 'RateLimit-Policy': 'p', RateLimit: 'l' }, retryAfterSeconds: 0 }),
};

/** A log that has every tile, and records the requested paths. */
function publicLog({ isOpen = false, showsEntries = true } = {}) {
  const asked: string[] = [];
  const log: PublicLog = {
    prove: (_channel, id) => Promise.resolve(id === 'r1' ? { receipt: RECEIPT, proof: PROOF } : undefined),
    checkpoint: (name) => Promise.resolve(NOTES[name]),
    logKeys: (name) => Promise.resolve(name in NOTES ? `statement of ${name}` : undefined),
    logs: (channel) => Promise.resolve(channel === 'acme.main' ? LOGS : []),
    declaration: (channel, epoch) =>
      Promise.resolve(channel === 'acme.main' && epoch === 1 ? PROVED_DECLARATION : undefined),
    tile: (name, path) => {
      asked.push(name === 'acme.main' ? path : `${name} ${path}`);
      if (path.includes('/999')) return Promise.resolve(undefined);
      return Promise.resolve(path.includes('.p/') ? PARTIAL : FULL);
    },
    entries: (name, path) => {
      asked.push(name === 'acme.main' ? path : `${name} ${path}`);
      const isKept = !path.includes('.p/');
      return Promise.resolve(path.includes('/999') ? undefined : { bytes: ENTRIES, isKept });
    },
    find: () => Promise.resolve(undefined),
    growth: () => Promise.resolve([]),
  };
  const app = createApp<PeerCaller>({
    routes: publicLogRoutes({
      log,
      mappings: anyMapping,
      isOpen: () => isOpen,
      showsEntries: () => showsEntries,
    }),
    guard,
    log: createLog({ service: 'test', level: 'error', stream: new PassThrough().resume(), now: () => 0 }),
    metrics: httpMetrics(new Metrics('test', { processMetrics: false })),
    now: () => 0,
    newId: () => 'made-here',
    trustProxy: false,
    tlsTerminatedUpstream: false,
    head: true,
    compress: true,
  });
  return { app, asked };
}

describe('the public log over HTTP (C2SP tlog-tiles)', () => {
  it.each([
    ['a full tile as immutable', 'tile/0/x001/067', FULL, 'private, max-age=31536000, immutable'],
    ['a partial one for a minute', 'tile/0/000.p/7', PARTIAL, 'private, max-age=60'],
  ])('lets callers with a key cache %s, with a strong ETag', async (_, path, bytes, caching) => {
    const { app } = publicLog();
    const got = await request(app).get(`/ledger/acme.main/${path}`);
    expect(got.status).toBe(200);
    expect(got.body).toEqual(bytes);
    expect(got.headers).toMatchObject({
      'content-type': 'application/octet-stream',
      'cache-control': caching,
      etag: etagOf(bytes),
    });
    expect(got.headers).not.toHaveProperty('content-encoding');
    const head = await request(app).head(`/ledger/acme.main/${path}`);
    expect(head.headers).toMatchObject({ etag: etagOf(bytes), 'content-length': String(bytes.length) });
  });

  it('lets shared caches keep tiles if no key is needed', async () => {
    const { app } = publicLog({ isOpen: true });
    const { headers } = await request(app).get('/ledger/acme.main/tile/0/000');
    expect(headers['cache-control']).toBe('public, max-age=31536000, immutable');
  });

  it.each([
    ['a full bundle as immutable', 'tile/entries/x001/067', false, 'private, max-age=31536000, immutable'],
    ['a full one of an open log in shared caches', 'tile/entries/000', true, 'public, max-age=31536000, immutable'],
  ])('lets entries be cached: %s, compressed or not', async (_, path, isOpen, caching) => {
    const { app } = publicLog({ isOpen });
    for (const coding of ['gzip', 'identity']) {
      const got = await request(app).get(`/ledger/acme.main/${path}`).set('Accept-Encoding', coding);
      expect([got.status, got.body]).toEqual([200, ENTRIES]);
      expect(got.headers).toMatchObject({
        'content-type': 'application/octet-stream',
        'cache-control': caching,
        etag: `W/${etagOf(ENTRIES)}`,
        vary: 'Accept-Encoding',
      });
      expect(got.headers['content-encoding']).toBe(coding === 'gzip' ? 'gzip' : undefined);
    }
    const known = await request(app)
      .get(`/ledger/acme.main/${path}`)
      .set('If-None-Match', `W/${etagOf(ENTRIES)}`);
    expect(known.status).toBe(304);
  });

  it('lets a part of a bundle be cached for a minute, and compresses none: it is cut out for each answer', async () => {
    const { app } = publicLog();
    const got = await request(app).get('/ledger/acme.main/tile/entries/000.p/7').set('Accept-Encoding', 'gzip');
    expect([got.status, got.body]).toEqual([200, ENTRIES]);
    expect(got.headers).toMatchObject({ 'cache-control': 'private, max-age=60', etag: `W/${etagOf(ENTRIES)}` });
    expect(got.headers).not.toHaveProperty('content-encoding');
  });

  it('serves no entries of a channel that holds records of others, and reads none', async () => {
    const { app, asked } = publicLog({ showsEntries: false });
    for (const path of ['tile/entries/000', 'e1/tile/entries/000', 'tile/entries/000.p/7'])
      expectProblem(await request(app).get(`/ledger/acme.main/${path}`), 'NOT_FOUND');
    expect(asked).toEqual([]);
    expect((await request(app).get('/ledger/acme.main/tile/0/000')).status).toBe(200);
  });

  it.each([
    ['checkpoint', NOTE],
    ['key', 'statement of acme.main'],
  ])('has a %s revalidated each time, and sends it only if it has changed', async (what, note) => {
    const { app } = publicLog();
    const ask = (tags?: string) => {
      const asking = request(app).get(`/ledger/acme.main/${what}`);
      return tags === undefined ? asking : asking.set('If-None-Match', tags);
    };
    const got = await ask();
    expect(got.text).toBe(note);
    expect(got.headers).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'cache-control': 'private, no-cache',
      etag: etagOf(note),
    });
    for (const tags of [etagOf(note), `"x", W/${etagOf(note)}`, '*']) {
      const again = await ask(tags);
      expect([again.status, again.text, again.headers['etag']]).toEqual([304, '', etagOf(note)]);
      expect(again.headers['cache-control']).toBe('private, no-cache');
    }
    expect((await ask('"x"')).status).toBe(200);
  });

  it('never lets a 404 be cached', async () => {
    const { app } = publicLog({ isOpen: true });
    for (const path of [
      '/ledger/acme.main/tile/0/999',
      '/ledger/acme.main/tile/entries/999',
      '/ledger/acme.other/checkpoint',
      '/ledger/acme.other/key',
    ]) {
      const answer = await request(app).get(path).set('If-None-Match', '*');
      expectProblem(answer, 'NOT_FOUND');
      expect(answer.headers).toMatchObject({ 'cache-control': 'no-store' });
      expect(answer.headers).not.toHaveProperty('etag');
    }
  });

  it('is described by path templates that lead to the right tile', async () => {
    const { app, asked } = publicLog();
    const values = { channel: 'acme.main', epoch: 'e1', level: 63, x1: 'x001', x2: 'x234', n: '067', width: 7 };
    const templates = Object.keys(publicDescription()['paths'] as object).filter((path) => path.includes('/tile/'));
    for (const template of templates) {
      const path = Object.entries(values).reduce(
        (text, [name, value]) => text.replace(`{${name}}`, encodeURIComponent(value)),
        template,
      );
      expect((await request(app).get(path)).status).toBe(200);
    }
    const places = ['067', '067.p/7', 'x001/067', 'x001/067.p/7', 'x001/x234/067', 'x001/x234/067.p/7'];
    const paths = ['63', 'entries'].flatMap((kind) => places.map((place) => `tile/${kind}/${place}`));
    expect(asked.toSorted()).toEqual([...paths.map((path) => `acme.main/e1 ${path}`), ...paths].toSorted());
  });

  it.each([
    ['?format=tlog-proof', undefined],
    ['?format=tlog-proof', 'application/json'],
    ['', 'text/x.tlog-proof'],
    ['', 'application/json, Text/X.tlog-proof;q=0.5'],
  ])('proves a record by a file without a salt: %s with Accept %s', async (query, accept) => {
    const { app } = publicLog();
    const asking = request(app).get(`/ledger/acme.main/records/r1/proof${query}`);
    const got = await (accept === undefined ? asking : asking.set('Accept', accept));
    expect([got.status, got.text]).toEqual([200, PROOF_FILE]);
    expect(got.headers).toMatchObject({
      'content-type': 'text/x.tlog-proof; charset=utf-8',
      'cache-control': 'no-store',
    });
  });

  it.each([
    ['', undefined],
    ['', '*/*'],
    ['', 'text/x.tlog-proof;q=0, application/json'],
    ['?format=json', 'text/x.tlog-proof'],
  ])('proves it as JSON otherwise: %s with Accept %s', async (query, accept) => {
    const { app } = publicLog();
    const asking = request(app).get(`/ledger/acme.main/records/r1/proof${query}`);
    const got = await (accept === undefined ? asking : asking.set('Accept', accept));
    expect(got.body).toEqual({ receipt: RECEIPT, proof: PROOF });
  });

  it('has no proof in another format, and none of a record it does not serve', async () => {
    const { app } = publicLog();
    expectProblem(await request(app).get('/ledger/acme.main/records/r1/proof?format=pem'), 'INVALID_REQUEST');
    expectProblem(await request(app).get('/ledger/acme.main/records/r2/proof?format=tlog-proof'), 'NOT_FOUND');
  });

  it('has a path for each log of a channel, and lists the newest', async () => {
    const { app } = publicLog();
    const path = '/ledger/acme.main';
    expect((await request(app).get(path)).body).toEqual({
      channel: 'acme.main',
      epoch: 1,
      origin: 'ledger.test/acme.main/e1',
      path: `${path}/e1`,
      logs: [
        { ...LOGS[0], path },
        { ...LOGS[1], path: `${path}/e1` },
      ],
    });
    expect((await request(app).get(`${path}/checkpoint`)).text).toBe(NOTE);
    expect((await request(app).get(`${path}/e1/checkpoint`)).text).toBe(NOTES['acme.main/e1']);
    expect((await request(app).get(`${path}/key`)).text).toBe('statement of acme.main');
    expect((await request(app).get(`${path}/e1/key`)).text).toBe('statement of acme.main/e1');
    expect((await request(app).get(`${path}/e1/declaration`)).body).toEqual(PROVED_DECLARATION);
  });

  it.each(['e0', 'e01', 'e2', 'x1', '1', 'e1.5', 'E1'])('has nothing under %s', async (epoch) => {
    const { app } = publicLog();
    for (const rest of ['checkpoint', 'key', 'declaration'])
      expectProblem(await request(app).get(`/ledger/acme.main/${epoch}/${rest}`), 'NOT_FOUND');
    expectProblem(await request(app).get(`/ledger/acme.main%2F${epoch}/checkpoint`), 'NOT_FOUND');
    expectProblem(await request(app).get('/ledger/acme.other'), 'NOT_FOUND');
  });
});
