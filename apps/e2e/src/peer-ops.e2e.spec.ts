import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem } from '@sealgate/testing';
import { expectCommonHeaders } from './harness/answers.ts';
import { programOf } from './harness/bundle.ts';
import { setupTimeoutMs } from './harness/contract-setup.ts';
import { prepareGateway } from './harness/gateway-process.ts';
import { peerEnv, peerSetup, type PeerSetup } from './harness/peer-setup.ts';

let setup: PeerSetup;
beforeAll(async () => {
  setup = await peerSetup();
}, setupTimeoutMs);
afterAll(() => setup.stop());

const open = (path: string, method = 'GET', headers: Record<string, string> = {}) =>
  setup.ask(method, path, { headers: { 'X-Api-Key': undefined, ...headers } });

describe('Health, without authentication', () => {
  it.each([
    ['/health/live', { status: 'alive' }],
    ['/health/ready', { status: 'healthy' }],
    ['/health/startup', { status: 'healthy' }],
    ['/health', { status: 'healthy', credentials: { ok: true, problems: [] } }],
  ])('%s', async (path, body) => {
    const answer = await open(path);
    expect(answer).toMatchObject({ status: 200, body });
    expect(answer.body).toEqual(body);
    expect(answer.headers).toMatchObject({ 'content-type': 'application/json', 'cache-control': 'no-store' });
    expectCommonHeaders(answer);
    expect(await open(path, 'HEAD')).toMatchObject({ status: 200, text: '' });
    const refused = await open(path, 'POST');
    expectProblem(refused, 'METHOD_NOT_ALLOWED');
    expect(refused.headers['allow']).toBe('GET, HEAD');
  });

  it('is the same on the listener for probes, which has nothing else', async () => {
    const ask = (path: string) => setup.peer.ops.send({ path });
    expect((await ask('/health/live')).text).toBe('{"status":"alive"}');
    for (const path of ['/health/ready', '/health/startup', '/metrics']) expect((await ask(path)).status).toBe(200);
    for (const path of ['/health', '/api/assets/x']) expect((await ask(path)).status).toBe(404);
  });
});

describe('Metrics on the public listener', () => {
  it('are available to an internal scraper', async () => {
    await setup.ask('POST', '/api/assets', { body: { assets: [{ id: 'counted', type: 'asset', data: {} }] } });
    await setup.ask('POST', '/api/assets', { body: { assets: [] } });
    await setup.ask('GET', '/api/assets/counted');
    const answer = await open('/metrics');
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toMatch(/^text\/plain; version=/);
    for (const sample of [
      /http_requests_total\{route="\/api\/assets",method="POST",status="2xx",service="ledger-peer"\} 1\b/,
      /http_requests_total\{route="\/api\/assets",method="POST",status="4xx",service="ledger-peer"\} 1\b/,
      /http_request_duration_seconds_bucket\{.*route="\/api\/assets\/\{id\}"/,
      /ledger_writes_total\{outcome="committed",service="ledger-peer"\} 1\b/,
      /ledger_call_duration_seconds_count\{[^}]*\bcall="write"[^}]*\} 1\b/,
    ])
      expect(answer.text).toMatch(sample);
  });

  it.each<[string, Record<string, string>]>([
    ['X-Forwarded-For', { 'X-Forwarded-For': '127.0.0.1' }],
    ['Forwarded', { Forwarded: 'for=127.0.0.1' }],
  ])('are absent for requests with %s, by any method', async (_, headers) => {
    const hidden = await open('/metrics', 'GET', { ...headers, 'X-Request-Id': 'same' });
    expectProblem(hidden, 'NOT_FOUND');
    const missing = await open('/nothing', 'GET', { 'X-Request-Id': 'same' });
    expect(hidden.text).toBe(missing.text);
    expectProblem(await open('/metrics', 'POST', headers), 'NOT_FOUND');
  });

  it(
    'are absent for an address that is not allowed',
    async () => {
      const closed = await peerSetup({ env: { METRICS_ALLOW: '10.0.0.0/8' } });
      try {
        expectProblem(await closed.ask('GET', '/metrics'), 'NOT_FOUND');
        expect((await closed.peer.ops.send({ path: '/metrics' })).status).toBe(200);
      } finally {
        await closed.stop();
      }
    },
    setupTimeoutMs,
  );
});

describe('Public information', () => {
  it("includes the descriptions of the peer's API", async () => {
    const { status, body } = await open('/api/openapi.json');
    expect(status).toBe(200);
    const { openapi, paths } = body as { openapi: string; paths: Record<string, object> };
    expect(openapi).toBe('3.1.0');
    expect(Object.keys(paths)).toEqual(
      expect.arrayContaining([
        '/api/assets',
        '/api/assets/query',
        '/api/assets/{id}',
        '/api/jobs/{id}',
        '/health/ready',
        '/metrics',
      ]),
    );
  });

  it('includes the key of the log', async () => {
    const { body, headers } = await open('/.well-known/jwks.json');
    expect(headers).toMatchObject({ 'cache-control': 'public, max-age=60', etag: expect.stringMatching(/^W\//) });
    const { keys } = body as { keys: { x: string; kty: string; crv: string }[] };
    const raw = Buffer.from(setup.verifierKey.split('+').slice(2).join('+'), 'base64').subarray(1);
    expect(keys).toMatchObject([{ kty: 'OKP', crv: 'Ed25519', x: raw.toString('base64url') }]);
  });
});

describe('A start with an invalid configuration', () => {
  it.each<[string, Record<string, string>, RegExp]>([
    [
      'open to others without keys',
      { HOST: '0.0.0.0', TLS_TERMINATED_UPSTREAM: 'true' },
      /API_KEY_HASHES: without keys/,
    ],
    ['a mapping that is not there', { MAPPING_FILE: '/nowhere/mapping.json' }, /MAPPING_FILE: cannot be read/],
    ['a Fabric ledger without its file', { LEDGER_DRIVER: 'fabric' }, /FABRIC_CONFIG: is required/],
  ])(
    '%s is reported in one sentence',
    async (name, env, said) => {
      const logFile = `${setup.folder}/${name.replaceAll(' ', '-')}.log`;
      const broken = await prepareGateway({
        program: programOf('ledger-peer', 'main'),
        env: { ...peerEnv(setup.folder, 'postgres://u@127.0.0.1:1/x'), ...env },
        logFile,
      });
      await expect(broken.start()).rejects.toThrow(said);
      expect(broken.logText()).not.toMatch(/\n\s+at /);
      broken.release();
    },
    setupTimeoutMs,
  );
});
