import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem } from '@sealgate/testing';
import { expectCommonHeaders } from './harness/answers.ts';
import { setupTimeoutMs } from './harness/contract-setup.ts';
import type { HttpAnswer } from './harness/http-exchange.ts';
import { peerSetup, type PeerSetup, type SyncSummary } from './harness/peer-setup.ts';

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
const hex64 = /^[0-9a-f]{64}$/;

describe('Pushing assets', () => {
  it('answers the result of each asset, and its transaction', async () => {
    const [a, b] = [freshId(), freshId()];
    const answer = await push([asset(a), asset(b, { deep: { x: [1, null, 'é'] } }, 'demo.thing')]);
    expectCommonHeaders(answer);
    expect(summaryOf(answer)).toEqual({
      summary: { total: 2, succeeded: 2, failed: 0, pending: 0 },
      succeeded: [a, b],
      failed: [],
      pending: [],
      transactionIds: [expect.stringMatching(hex64)],
      transactions: [
        {
          transactionId: summaryOf(answer).transactionIds[0],
          channel: 'acme.main',
          chaincode: 'records',
          blockNumber: expect.any(Number),
          assetIds: [a, b],
        },
      ],
    });
  });

  it('answers the first receipt for the same content, however often and with any neighbours', async () => {
    const [a, b, c] = [freshId(), freshId(), freshId()];
    const first = summaryOf(await push([asset(a, { x: 1, y: 2 }), asset(b)]));
    const again = summaryOf(await push([asset(b), asset(a, { y: 2, x: 1 }), asset(c)]));
    const transaction = first.transactions[0]!;
    expect(again.succeeded).toEqual([b, a, c]);
    expect(again.transactions[0]).toEqual({ ...transaction, assetIds: [b, a] });
    expect(again.transactions[1]).toMatchObject({ assetIds: [c] });
    expect(again.transactions[1]?.transactionId).not.toBe(transaction.transactionId);
    // A part of it shows where the whole transaction begins.
    const part = summaryOf(await push([asset(b)]));
    expect(part.transactions).toEqual([{ ...transaction, assetIds: [b] }]);
  });

  it('refuses other content under the id, type included, and writes its neighbours', async () => {
    const [a, b] = [freshId(), freshId()];
    await push([asset(a, { x: 1 })]);
    for (const changed of [asset(a, { x: 2 }), asset(a, { x: 1 }, 'demo.x')]) {
      expect(summaryOf(await push([changed, asset(b)]))).toMatchObject({
        summary: { total: 2, succeeded: 1, failed: 1 },
        succeeded: [b],
        failed: [{ id: a, index: 0, code: 'RECORD_CONFLICT', message: expect.any(String), retryable: false }],
      });
    }
  });

  it('writes a duplicate within a request once, and fails the later of two that differ', async () => {
    const [a, b] = [freshId(), freshId()];
    const answer = summaryOf(await push([asset(a), asset(b, { v: 1 }), asset(a), asset(b, { v: 2 })]));
    expect(answer).toMatchObject({
      summary: { total: 4, succeeded: 3, failed: 1, pending: 0 },
      succeeded: [a, b, a],
      failed: [{ id: b, index: 3, code: 'RECORD_CONFLICT' }],
      transactions: [{ assetIds: [a, b] }],
    });
    expect((await setup.ask('GET', `/api/assets/${b}`)).body).toMatchObject({ data: { v: 1 } });
  });

  it('attempts nothing after a failed batch, unless configured to continue', async () => {
    const ids = Array.from({ length: 5 }, freshId);
    const taken = ids[1]!;
    await push([asset(taken, { first: true })]);
    const batch = ids.map((id) => asset(id));
    const stopped = summaryOf(await push(batch, { batchSize: 2 }));
    expect(stopped.succeeded).toEqual([ids[0]]);
    expect(stopped.failed.map(({ id, code, retryable }) => [id, code, retryable])).toEqual([
      [taken, 'RECORD_CONFLICT', false],
      ...ids.slice(2).map((id) => [id, 'NOT_ATTEMPTED', true]),
    ]);
    const whole = summaryOf(await push(batch, { batchSize: 2, continueOnError: true }));
    expect(whole.succeeded).toEqual([ids[0], ...ids.slice(2)]);
    expect(whole.failed).toMatchObject([{ id: taken, code: 'RECORD_CONFLICT' }]);
  });

  it('makes one transaction per batch and channel', async () => {
    const ids = Array.from({ length: 5 }, freshId);
    const types = ['asset', 'other.x', 'asset', 'asset', 'other.x'];
    const answer = summaryOf(
      await push(
        ids.map((id, at) => asset(id, {}, types[at])),
        { batchSize: 2 },
      ),
    );
    expect(answer.transactions.map(({ channel, assetIds }) => [channel, assetIds])).toEqual([
      ['acme.main', [ids[0], ids[2]]],
      ['acme.other', [ids[1], ids[4]]],
      ['acme.main', [ids[3]]],
    ]);
  });

  it('refuses a type that is not mapped, and writes nothing of the request', async () => {
    const a = freshId();
    const answer = await push([asset(a), asset(freshId(), {}, 'nobodys'), asset(freshId(), {}, 'assets')]);
    expectProblem(answer, 'UNKNOWN_CHAINCODE', {
      errors: [
        { in: 'body', pointer: '/assets/1/type' },
        { in: 'body', pointer: '/assets/2/type' },
      ],
    });
    expectProblem(await setup.ask('GET', `/api/assets/${a}`), 'NOT_FOUND');
    const lenient = summaryOf(await push([asset(a), asset('n', {}, 'nobodys')], { continueOnError: true }));
    expect(lenient).toMatchObject({
      succeeded: [a],
      failed: [{ id: 'n', index: 1, code: 'UNKNOWN_CHAINCODE', retryable: false }],
    });
    const none = summaryOf(await push([asset('n', {}, 'nobodys')], { continueOnError: true }));
    expect(none.summary).toEqual({ total: 1, succeeded: 0, failed: 1, pending: 0 });
  });

  it(
    'accepts 1000 assets, and ids and types of every allowed form',
    async () => {
      const many = Array.from({ length: 1000 }, () => asset(freshId()));
      expect(summaryOf(await push(many, { batchSize: 500 })).transactions).toHaveLength(2);
      const odd = ['a/b', '...', '%2e', ' ', '😀'.repeat(256), 'query', 'a?b#c', '"\\'].map((id) => `${id}`);
      for (const id of odd) {
        expect(summaryOf(await push([asset(id, { at: 'odd' })])).succeeded).toEqual([id]);
        expect((await setup.ask('GET', `/api/assets/${encodeURIComponent(id)}`)).body).toMatchObject({ id });
      }
      expectProblem(await push([...many, asset(freshId())]), 'BATCH_TOO_LARGE');
    },
    setupTimeoutMs,
  );

  it.each<[string, unknown, string]>([
    ['no assets', { assets: [] }, '/assets'],
    ['no list', { assets: {} }, '/assets'],
    ['nothing', {}, '/assets'],
    ['a list', [], ''],
    ['an empty id', { assets: [asset('')] }, '/assets/0/id'],
    ['a dot', { assets: [asset('.')] }, '/assets/0/id'],
    ['two dots', { assets: [asset('..')] }, '/assets/0/id'],
    ['a control character', { assets: [asset('a\u0007')] }, '/assets/0/id'],
    ['a long id', { assets: [asset('é'.repeat(257))] }, '/assets/0/id'],
    ['a long type', { assets: [asset('a', {}, 'x'.repeat(129))] }, '/assets/0/type'],
    ['a number as id', { assets: [{ ...asset('a'), id: 7 }] }, '/assets/0/id'],
    ['data that is no object', { assets: [{ ...asset('a'), data: [] }] }, '/assets/0/data'],
    ['no data', { assets: [{ id: 'a', type: 'asset' }] }, '/assets/0/data'],
    ['an unknown member', { assets: [{ ...asset('a'), owner: 'x' }] }, '/assets/0/owner'],
    ['an unknown option', { assets: [asset('a')], options: { x: 1 } }, '/options/x'],
    ['a batch of none', { assets: [asset('a')], options: { batchSize: 0 } }, '/options/batchSize'],
    ['a batch of 501', { assets: [asset('a')], options: { batchSize: 501 } }, '/options/batchSize'],
    ['half an asset', { assets: [asset('a')], options: { batchSize: 1.5 } }, '/options/batchSize'],
    ['options that are null', { assets: [asset('a')], options: null }, '/options'],
    ['a word for a flag', { assets: [asset('a')], options: { continueOnError: 'true' } }, '/options/continueOnError'],
  ])('refuses %s with its pointer', async (_, body, pointer) => {
    expectProblem(await setup.ask('POST', '/api/assets', { body }), 'INVALID_REQUEST', {
      errors: [{ in: 'body', pointer }],
    });
  });

  it('accepts gzip, and keeps numbers and control characters of the payload as they are', async () => {
    const id = freshId();
    const body = gzipSync(`{"assets":[{"id":"${id}","type":"asset","data":{"n":1.10,"z":-0,"c":"\\u0000"}}]}`);
    const answer = await setup.ask('POST', '/api/assets', { body, headers: { 'Content-Encoding': 'gzip' } });
    expect(answer.status).toBe(200);
    expect((await setup.ask('GET', `/api/assets/${id}`)).body).toMatchObject({ data: { n: 1.1, z: 0, c: '\u0000' } });
  });
});

describe('One number in several spellings', () => {
  const spellings = [
    ['333333333.33333329', '333333333.3333333', '3.3333333333333329e8'],
    ['1E30', '1000000000000000000000000000000', '10e29'],
    ['4.50', '4.5', '45e-1'],
    ['-0', '0', '0E-400'],
    ['4.9406564584124654e-324', '5e-324'],
  ];
  const send = (id: string, number: string, headers: Record<string, string> = {}) => {
    const body = `{"assets":[{"id":"${id}","type":"asset","data":{"n":${number}}}]}`;
    return setup.ask('POST', '/api/assets', { body, headers });
  };

  it.each(spellings)('is one content of an id, and one request under a key: %s', async (first, ...others) => {
    const [plain, keyed] = [freshId(), freshId()];
    const written = summaryOf(await send(plain, first));
    const headers = { 'Idempotency-Key': keyed };
    const answer = await send(keyed, first, headers);
    for (const other of others) {
      expect(summaryOf(await send(plain, other))).toEqual(written);
      const again = await send(keyed, other, headers);
      expect(again).toMatchObject({ status: 200, text: answer.text });
      expect(again.headers['idempotent-replayed']).toBe('true');
    }
    expect(summaryOf(await send(plain, '333333333.33333328')).failed).toMatchObject([{ code: 'RECORD_CONFLICT' }]);
  });
});

describe('An Idempotency-Key', () => {
  it('in quotes with anything after them is not another key, and writes nothing', async () => {
    const a = freshId();
    for (const key of [`"${a}";x=1`, `"${a}";`, `"${a}", "${a}"`, `"${a}`]) {
      expectProblem(await push([asset(a)], undefined, { 'Idempotency-Key': key }), 'INVALID_IDEMPOTENCY_KEY');
    }
    expectProblem(await setup.ask('GET', `/api/assets/${a}`), 'NOT_FOUND');
  });

  it('gets the same bytes for the same request in canonical form, and for no other', async () => {
    const [a, b] = [freshId(), freshId()];
    const first = await push([asset(a, { x: 1, y: 2 })], undefined, { 'Idempotency-Key': a });
    const again = await setup.ask('POST', '/api/assets', {
      body: ` { "assets": [ {"data":{"y":2,"x":1.0},"type":"asset","id":"${a}"} ] } `,
      headers: { 'Idempotency-Key': `"${a}"` },
    });
    expect(first.headers['idempotent-replayed']).toBeUndefined();
    expect(again).toMatchObject({ status: 200, text: first.text });
    expect(again.headers['idempotent-replayed']).toBe('true');
    expectProblem(await push([asset(b)], undefined, { 'Idempotency-Key': a }), 'IDEMPOTENCY_KEY_REUSED');
    const other = await setup.ask('POST', '/api/assets', {
      body: { assets: [asset(b)] },
      headers: { 'Idempotency-Key': a, 'X-Api-Key': setup.otherKey },
    });
    expect(other.status).toBe(200);
  });

  it('keeps an answer in which assets failed', async () => {
    const a = freshId();
    await push([asset(a)]);
    const send = () => push([asset(a, { other: true })], undefined, { 'Idempotency-Key': `failed-${a}` });
    const first = await send();
    expect(summaryOf(first).failed).toHaveLength(1);
    expect((await send()).text).toBe(first.text);
  });
});
