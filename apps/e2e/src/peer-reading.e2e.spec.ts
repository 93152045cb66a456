import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem, until } from '@sealgate/testing';
import { setupTimeoutMs } from './harness/contract-setup.ts';
import type { HttpAnswer } from './harness/http-exchange.ts';
import { peerSetup, type PeerSetup, type SyncSummary } from './harness/peer-setup.ts';
import { verify } from './harness/verifier.ts';

let setup: PeerSetup;
beforeAll(async () => {
  setup = await peerSetup();
}, setupTimeoutMs);
afterAll(() => setup.stop());

let made = 0;
const freshId = (): string => `id-${(made += 1)}`;
const asset = (id: string, data: object = {}, type = 'asset') => ({ id, type, data });
const push = (assets: readonly object[], options?: object, headers: Record<string, string> = {}): Promise<HttpAnswer> =>
  setup.ask('POST', '/api/assets', { body: { assets, ...(options === undefined ? {} : { options }) }, headers });
const summaryOf = (answer: HttpAnswer): SyncSummary => {
  expect(answer.status).toBe(200);
  return answer.body as SyncSummary;
};

describe('Reading assets', () => {
  it('returns what was written, by HEAD too, and picks the mapping by type', async () => {
    const a = freshId();
    await push([asset(a, { x: 1 }, 'other.thing')]);
    const read = await setup.ask('GET', `/api/assets/${a}`);
    expect(read.body).toMatchObject({ id: a, type: 'other.thing', data: { x: 1 }, channel: 'acme.other' });
    expect((await setup.ask('GET', `/api/assets/${a}?type=other.x`)).status).toBe(200);
    expectProblem(await setup.ask('GET', `/api/assets/${a}?type=asset`), 'NOT_FOUND');
    expectProblem(await setup.ask('GET', `/api/assets/${a}?type=nobodys`), 'UNKNOWN_CHAINCODE');
    expectProblem(await setup.ask('GET', `/api/assets/${a}/history?type=asset`), 'UNKNOWN_CHAINCODE');
    const head = await setup.ask('HEAD', `/api/assets/${a}`);
    expect(head).toMatchObject({ status: 200, text: '' });
    expect(head.headers['content-length']).toBe(read.headers['content-length']);
  });

  it.each([
    ['?proof=yes', 'INVALID_REQUEST'],
    ['?proof=', 'INVALID_REQUEST'],
    ['?type=', 'INVALID_REQUEST'],
    ['?proof=true&proof=true', 'UNKNOWN_PARAMETER'],
    ['?limit=1', 'UNKNOWN_PARAMETER'],
  ])('refuses %s', async (query, code) => {
    expectProblem(await setup.ask('GET', `/api/assets/x${query}`), code);
  });

  it(
    'proves an asset to anyone with only the key of the log',
    async () => {
      const a = freshId();
      await push([asset(a, { secret: 'content' })]);
      const proved = await setup.ask('GET', `/api/assets/${a}?proof=true`);
      expect(proved.body).toMatchObject({
        asset: { id: a, data: { secret: 'content' } },
        receipt: { network: 'acme', channel: 'acme.main', id: a, type: 'asset', owner: null, extra: null },
        proof: { channel: 'acme.main', checkpoint: expect.stringContaining('\n— ') },
      });
      const alone = await setup.ask('GET', `/ledger/acme.main/records/${a}/proof`);
      expect(Object.keys(alone.body as object)).toEqual(['receipt', 'proof']);
      for (const [name, { body }] of Object.entries({ 'with.json': proved, 'alone.json': alone })) {
        const { receipt, proof } = body as { receipt: object; proof: object };
        writeFileSync(join(setup.folder, name), JSON.stringify({ receipt, proof }));
        writeFileSync(join(setup.folder, 'data.json'), '{"secret":"content"}');
        const judged = await verify(setup.folder, 'receipt', name, '--key', setup.verifierKey, '--data', 'data.json');
        expect(judged).toMatchObject({ exitCode: 0 });
      }
      writeFileSync(join(setup.folder, 'data.json'), '{"secret":"other"}');
      expect(
        await verify(setup.folder, 'receipt', 'alone.json', '--key', setup.verifierKey, '--data', 'data.json'),
      ).toMatchObject({ exitCode: 1 });
    },
    setupTimeoutMs,
  );

  it(
    'proves numbers as they were sent, in any spelling',
    async () => {
      const a = freshId();
      const sent = (number: string) => `{"n":[1E30,4.50,2e-3,5e-324,${number}]}`;
      const data = sent('333333333.33333329');
      await setup.ask('POST', '/api/assets', { body: `{"assets":[{"id":"${a}","type":"asset","data":${data}}]}` });
      const { text } = await setup.ask('GET', `/api/assets/${a}?proof=true`);
      expect(text).toContain('"data":{"n":[1e+30,4.5,0.002,5e-324,333333333.3333333]}');
      writeFileSync(join(setup.folder, 'numbers.json'), text);
      for (const [stated, exitCode] of [
        [data, 0],
        [sent('333333333.3333333'), 0],
        [sent('333333333.33333328'), 1],
      ] as const) {
        writeFileSync(join(setup.folder, 'sent.json'), stated);
        const how = ['--key', setup.verifierKey, '--data', 'sent.json'];
        expect(await verify(setup.folder, 'receipt', 'numbers.json', ...how)).toMatchObject({ exitCode });
      }
    },
    setupTimeoutMs,
  );

  it(
    'shows an erased asset without its content, and never reuses its id',
    async () => {
      const a = freshId();
      await push([asset(a, { personal: true })]);
      await setup.admin.ask('POST', `/ledger/channels/acme.main/records/${a}/erase`, { reason: 'asked for' });
      expect((await setup.ask('GET', `/api/assets/${a}`)).body).toEqual({
        id: a,
        type: 'asset',
        data: null,
        erased: true,
      });
      const again = summaryOf(await push([asset(a, { personal: true })]));
      expect(again.failed).toMatchObject([{ id: a, code: 'RECORD_CONFLICT' }]);
      const proved = await setup.ask('GET', `/api/assets/${a}?proof=true`);
      expect(proved.body).toMatchObject({ asset: { erased: true }, receipt: { salt: null, extra: null } });
      expect(await setup.admin.ask('POST', '/ledger/channels/acme.main/audit')).toMatchObject({ ok: true });
    },
    setupTimeoutMs,
  );
});

describe('Querying assets', () => {
  const query = (body: object) => setup.ask('POST', '/api/assets/query', { body });

  it(
    'pages by id in code point order, and has a null cursor exactly on the last page',
    async () => {
      const type = 'demo.paged';
      // U+FF5E sorts after U+1F600 by UTF-16, and before it by code points.
      const ids = ['p1', 'p10', 'p2', 'pA', 'pa', 'p～', 'p😀'];
      await push(ids.toReversed().map((id) => asset(id, {}, type)));
      await push([asset(freshId(), {}, 'demo.another')]);
      const seen: string[] = [];
      const pages: number[] = [];
      let cursor: string | null | undefined;
      do {
        const answer = await query({ type, limit: 3, ...(cursor == null ? {} : { cursor }) });
        const page = answer.body as { assets: { id: string }[]; count: number; nextCursor: string | null };
        expect(Object.keys(page)).toEqual(['assets', 'count', 'nextCursor']);
        expect(page.count).toBe(page.assets.length);
        pages.push(page.count);
        seen.push(...page.assets.map(({ id }) => id));
        cursor = page.nextCursor;
      } while (cursor !== null);
      expect(seen).toEqual(ids);
      expect(pages).toEqual([3, 3, 1]);
      expect((await query({ type, limit: 7 })).body).toMatchObject({ count: 7, nextCursor: null });
      expect((await query({ type: 'demo.nothing' })).body).toEqual({ assets: [], count: 0, nextCursor: null });
    },
    setupTimeoutMs,
  );

  it.each(['br', 'gzip'])('sends a page of more than 1,024 bytes in %s where asked, and no receipt', async (coding) => {
    const type = `demo.large.${coding}`;
    const first = freshId();
    const data = { text: 'evidence '.repeat(300) };
    await push([asset(first, data, type)]);
    // `fetch` decompresses the answer.
    const fetched = (path: string, init: RequestInit) =>
      fetch(setup.peer.public.origin + path, {
        ...init,
        headers: { 'x-api-key': setup.key, 'content-type': 'application/json', 'accept-encoding': coding },
      });
    const page = await fetched('/api/assets/query', { method: 'POST', body: JSON.stringify({ type }) });
    expect([page.headers.get('content-encoding'), page.headers.get('vary')]).toEqual([coding, 'Accept-Encoding']);
    const bare = await query({ type });
    expect([bare.headers['content-encoding'], bare.headers['vary']]).toEqual([undefined, 'Accept-Encoding']);
    expect(await page.json()).toEqual(bare.body);
    expect(bare.body).toMatchObject({ assets: [{ id: first, data }] });
    const proved = await fetched(`/api/assets/${first}?proof=true`, { method: 'GET' });
    expect([proved.status, proved.headers.get('content-encoding')]).toEqual([200, null]);
  });

  it('refuses a cursor of another type, an altered one, and an invalid limit', async () => {
    await push([asset(freshId(), {}, 'demo.c'), asset(freshId(), {}, 'demo.c')]);
    const { nextCursor } = (await query({ type: 'demo.c', limit: 1 })).body as { nextCursor: string };
    const cursor = nextCursor;
    expectProblem(await query({ type: 'demo.d', cursor }), 'INVALID_CURSOR', {
      errors: [{ in: 'body', pointer: '/cursor' }],
    });
    const end = cursor.endsWith('AA') ? 'BA' : 'AA';
    expectProblem(await query({ type: 'demo.c', cursor: `${cursor.slice(0, -2)}${end}` }), 'INVALID_CURSOR');
    for (const wrong of ['', 7, null, 'a b'])
      expectProblem(await query({ type: 'demo.c', cursor: wrong }), 'INVALID_CURSOR');
    for (const limit of [0, 1001, 1.5, '10', null, -1]) {
      expectProblem(await query({ type: 'demo.c', limit, cursor: 7 }), 'INVALID_LIMIT', {
        errors: [{ in: 'body', pointer: '/limit' }],
      });
    }
    expectProblem(await query({ limit: 1 }), 'INVALID_REQUEST', { errors: [{ in: 'body', pointer: '/type' }] });
    expectProblem(await query({ type: 'nobodys' }), 'UNKNOWN_CHAINCODE');
  });

  it('answers GET of its path with the asset of that id', async () => {
    await push([asset('query', { at: 'odd' })]);
    expect((await setup.ask('GET', '/api/assets/query')).body).toMatchObject({ id: 'query' });
    const refused = await setup.ask('DELETE', '/api/assets/query');
    expectProblem(refused, 'METHOD_NOT_ALLOWED');
    expect(refused.headers['allow']).toBe('GET, HEAD, POST');
    expect((await setup.ask('PUT', '/api/assets')).headers['allow']).toBe('POST');
  });
});

describe('The public log', () => {
  it(
    'signs a checkpoint within a second of a write, and serves the tiles under it',
    async () => {
      await push([asset(freshId(), {}, 'other.t'), asset(freshId(), {}, 'other.t'), asset(freshId(), {}, 'other.t')]);
      const size = (await setup.admin.ask('GET', '/ledger/channels'))['items'] as { channel: string; size: number }[];
      const wanted = size.find(({ channel }) => channel === 'acme.other')?.size ?? 0;
      const checkpoint = () => setup.ask('GET', '/ledger/acme.other/checkpoint');
      await until(async () => Number((await checkpoint()).text.split('\n')[1]) >= wanted, { timeoutMs: 3_000 });
      const note = await checkpoint();
      expect(note.headers['content-type']).toBe('text/plain; charset=utf-8');
      expect(note.text).toMatch(/^ledger\.test\/sealgate\/acme\.other\n\d+\n\S+\n\n— ledger\.test\/sealgate /);
      const tile = await setup.ask('GET', `/ledger/acme.other/tile/0/000.p/${wanted}`);
      expect(tile.headers).toMatchObject({
        'content-type': 'application/octet-stream',
        'content-length': `${wanted * 32}`,
      });
      for (const path of [
        `tile/0/000.p/${wanted + 1}`,
        'tile/0/000',
        'tile/9/000',
        'tile/0/0',
        'tile/0/000.p/0',
        'tile/x',
      ]) {
        expectProblem(await setup.ask('GET', `/ledger/acme.other/${path}`), 'NOT_FOUND');
      }
      const briefly = 'private, max-age=60';
      for (const [path, cacheControl] of [
        ['checkpoint', 'private, no-cache'],
        [`tile/0/000.p/${wanted}`, briefly],
        ['tile/0/000.p/1', briefly],
      ] as const) {
        const url = `/ledger/acme.other/${path}`;
        const { headers, text } = await setup.ask('GET', url);
        expect(headers).toMatchObject({ etag: expect.stringMatching(/^"[\w-]{43}"$/), 'cache-control': cacheControl });
        const head = await setup.ask('HEAD', url);
        expect(head.text).toBe('');
        for (const name of ['etag', 'content-length']) expect(head.headers[name]).toBe(headers[name]);
        for (const known of [headers['etag'], `W/${headers['etag']}`, `"x", ${headers['etag']}`, '*']) {
          const same = await setup.ask('GET', url, { headers: { 'If-None-Match': known } });
          expect(same).toMatchObject({ status: 304, text: '' });
          expect(same.headers).toMatchObject({ etag: headers['etag'], 'cache-control': cacheControl });
        }
        const other = await setup.ask('GET', url, { headers: { 'If-None-Match': '"x"' } });
        expect(other).toMatchObject({ status: 200, text });
      }
      const absent = await setup.ask('GET', '/ledger/acme.other/tile/0/255', { headers: { 'If-None-Match': '*' } });
      expectProblem(absent, 'NOT_FOUND');
      expect(absent.headers['cache-control']).toBe('no-store');
      for (const path of [
        '/ledger/acme.nowhere/checkpoint',
        '/ledger/nowhere/checkpoint',
        '/ledger/acme.other/records/no/proof',
      ])
        expectProblem(await setup.ask('GET', path), 'NOT_FOUND');
      expectProblem(
        await setup.ask('GET', '/ledger/acme.other/checkpoint', { headers: { 'X-Api-Key': 'x' } }),
        'UNAUTHENTICATED',
      );
    },
    setupTimeoutMs,
  );
});
