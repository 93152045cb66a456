import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem, until } from '@sealgate/testing';
import { expectCommonHeaders, limitsOf } from './harness/answers.ts';
import { setupTimeoutMs } from './harness/contract-setup.ts';
import type { HttpAnswer } from './harness/http-exchange.ts';
import { codeOf } from './harness/load.ts';
import { keyHash, newKey, peerSetup, type PeerSetup } from './harness/peer-setup.ts';

/** Everything that can be wrong with a write, in the contract's order of refusal. */
const faults = [
  ['path', 'NOT_FOUND'],
  ['method', 'METHOD_NOT_ALLOWED'],
  ['key', 'UNAUTHENTICATED'],
  ['limits', 'RATE_LIMITED'],
  ['media type', 'UNSUPPORTED_MEDIA_TYPE'],
  ['size', 'PAYLOAD_TOO_LARGE'],
  ['strict JSON', 'DUPLICATE_MEMBER'],
  ['too many assets', 'BATCH_TOO_LARGE'],
  ['query', 'UNKNOWN_PARAMETER'],
  ['shape', 'INVALID_REQUEST'],
  ['idempotency key', 'INVALID_IDEMPOTENCY_KEY'],
  ['reused idempotency key', 'IDEMPOTENCY_KEY_REUSED'],
  ['mapping', 'UNKNOWN_CHAINCODE'],
] as const;

type Fault = (typeof faults)[number][0];

/** A write with this fault and with every later one. */
const steps = faults.map(([first, code], index) => ({
  first,
  code,
  wrong: new Set<Fault>(faults.slice(index).map(([fault]) => fault)),
}));

/** Small, so that a body beyond the limit is cheap. */
const bodyMaxBytes = 200_000;

describe('A write with several faults is refused for the one that comes first', () => {
  let setup: PeerSetup;
  /** Its bucket is as small as can be. */
  let poor: PeerSetup;
  beforeAll(async () => {
    setup = await peerSetup({ env: { BODY_MAX_BYTES: String(bodyMaxBytes) } });
    poor = await peerSetup({ env: { BODY_MAX_BYTES: String(bodyMaxBytes), RATE_PER_SECOND: '1', RATE_BURST: '1' } });
    const body = { assets: [{ id: 'used', type: 'asset', data: {} }] };
    const headers = { 'Idempotency-Key': 'used' };
    expect((await setup.ask('POST', '/api/assets', { body, headers })).status).toBe(200);
  }, setupTimeoutMs);
  afterAll(async () => {
    await setup.stop();
    await poor.stop();
  });

  function bodyOf(wrong: ReadonlySet<Fault>): string {
    const type = wrong.has('mapping') ? 'nobodys' : 'asset';
    const shape = wrong.has('shape') ? ',"owner":7' : '';
    const asset = `{"id":"x","type":"${type}","data":{}${shape}}`;
    const count = wrong.has('too many assets') ? 1001 : 1;
    const twice = wrong.has('strict JSON') ? ',"assets":[]' : '';
    const pad = wrong.has('size') ? ' '.repeat(bodyMaxBytes) : '';
    return `{"assets":[${Array.from({ length: count }, () => asset).join(',')}]${twice}}${pad}`;
  }

  function send(wrong: ReadonlySet<Fault>): Promise<HttpAnswer> {
    const { ask } = wrong.has('limits') ? poor : setup;
    const path = `/api/assets${wrong.has('path') ? '/x/y' : ''}${wrong.has('query') ? '?x=1' : ''}`;
    const key = wrong.has('idempotency key') ? 'a b' : wrong.has('reused idempotency key') ? 'used' : undefined;
    return ask(wrong.has('method') ? 'PUT' : 'POST', path, {
      body: bodyOf(wrong),
      headers: {
        ...(wrong.has('key') ? { 'X-Api-Key': 'wrong' } : {}),
        ...(wrong.has('media type') ? { 'Content-Type': 'text/plain' } : {}),
        'Idempotency-Key': key,
      },
    });
  }

  it.each(steps)('$first, whatever is wrong after it: $code', async ({ first, code, wrong }) => {
    let answer = await send(wrong);
    // Its bucket holds one request, and a second refills it.
    if (first === 'limits') await until(async () => codeOf((answer = await send(wrong))) === code);
    expect(answer.body).toMatchObject({ code });
    expectCommonHeaders(answer);
  });
});

describe('Authentication', () => {
  let setup: PeerSetup;
  beforeAll(async () => {
    setup = await peerSetup({ env: { RATE_PER_SECOND: '10', RATE_BURST: '200' } });
  }, setupTimeoutMs);
  afterAll(() => setup.stop());

  it.each<[string, Record<string, string | readonly string[] | undefined>]>([
    ['no key', { 'X-Api-Key': undefined }],
    ['an unknown key', { 'X-Api-Key': newKey() }],
    ['a short one', { 'X-Api-Key': 'short' }],
    ['a key of another surface', { 'X-Api-Key': `ingest_${'a'.repeat(43)}` }],
    ['the key in the other header', { 'X-Api-Key': undefined, Authorization: 'Bearer x' }],
  ])('%s is 401, always with the same detail', async (_, headers) => {
    const answer = await setup.ask('GET', '/api/assets/x', { headers });
    expectProblem(answer, 'UNAUTHENTICATED');
    expect(answer.headers['www-authenticate']).toBe('ApiKey realm="sealgate"');
    expect(answer.headers['ratelimit']).toBeUndefined();
  });

  it('a repeated key, or one with a suffix, is 401', async () => {
    const twice = await setup.ask('GET', '/api/assets/x', { headers: { 'X-Api-Key': [setup.key, setup.key] } });
    expectProblem(twice, 'UNAUTHENTICATED');
    expectProblem(
      await setup.ask('GET', '/api/assets/x', { headers: { 'X-Api-Key': `${setup.key}=` } }),
      'UNAUTHENTICATED',
    );
  });

  it(
    'each request costs 1 of 200, whatever its answer',
    async () => {
      for (const path of ['/api/assets/nobody', '/api/assets/nobody?x=1', '/api/jobs/none']) {
        expect(limitsOf(await setup.ask('GET', path))).toMatchObject({ policy: 'key', burst: 200 });
      }
      // A follower of the log reads many tiles, so these paths have a bucket of their own.
      expect(limitsOf(await setup.ask('GET', '/ledger/acme.main/checkpoint'))).toMatchObject({ burst: 2000 });
      const answers = await Promise.all(Array.from({ length: 600 }, () => setup.ask('GET', '/api/assets/nobody')));
      const refused = answers.filter(({ status }) => status === 429);
      expect(refused.length).toBeGreaterThan(0);
      expectProblem(refused[0]!, 'RATE_LIMITED');
      // Another key has a bucket of its own.
      const others = await setup.ask('GET', '/api/assets/nobody', { headers: { 'X-Api-Key': setup.otherKey } });
      expect(others.status).toBe(404);
    },
    setupTimeoutMs,
  );

  it(
    'no key is needed where none is configured; limits then apply per address',
    async () => {
      const open = await peerSetup({ env: { API_KEY_HASHES: undefined, RATE_BURST: '5', RATE_PER_SECOND: '1' } });
      try {
        const answer = await open.ask('GET', '/api/assets/x', { headers: { 'X-Api-Key': undefined } });
        expectProblem(answer, 'NOT_FOUND');
        expect(limitsOf(answer)).toMatchObject({ policy: 'address', burst: 5 });
      } finally {
        await open.stop();
      }
    },
    setupTimeoutMs,
  );

  it(
    'two keys of one family share their idempotent answers',
    async () => {
      const [old, renewed] = [newKey(), newKey()];
      const env = { API_KEY_HASHES: `team:${keyHash(old)},team:${keyHash(renewed)}` };
      const rotating = await peerSetup({ env });
      try {
        const body = { assets: [{ id: 'r', type: 'asset', data: {} }] };
        const send = (key: string) =>
          rotating.ask('POST', '/api/assets', { body, headers: { 'X-Api-Key': key, 'Idempotency-Key': 'k' } });
        const first = await send(old);
        const again = await send(renewed);
        expect(again.text).toBe(first.text);
        expect(again.headers['idempotent-replayed']).toBe('true');
      } finally {
        await rotating.stop();
      }
    },
    setupTimeoutMs,
  );
});
