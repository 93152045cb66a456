import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem } from '@sealgate/testing';
import { expectCommonHeaders } from './harness/answers.ts';
import { programOf } from './harness/bundle.ts';
import { contractSetup, setupTimeoutMs, type ContractSetup } from './harness/contract-setup.ts';
import type { HttpAnswer } from './harness/http-exchange.ts';
import { sender } from './harness/sender.ts';

const root = join(import.meta.dirname, '../../..');

describe('The ops listener', () => {
  let setup: ContractSetup;
  beforeAll(async () => {
    setup = await contractSetup();
  }, setupTimeoutMs);
  afterAll(() => setup.stop());

  const ask = (path: string, method = 'GET'): Promise<HttpAnswer> => setup.gateway.ops.send({ method, path });

  it('answers probes in plain JSON with no-store', async () => {
    const live = await ask('/health/live');
    expect(live.text).toBe('{"status":"alive"}');
    for (const path of ['/health/live', '/health/ready', '/health/startup']) {
      const answer = await ask(path);
      expectCommonHeaders(answer);
      expect(answer.status).toBe(200);
      expect(answer.headers).toMatchObject({ 'content-type': 'application/json', 'cache-control': 'no-store' });
      const head = await ask(path, 'HEAD');
      expect({ status: head.status, text: head.text }).toEqual({ status: 200, text: '' });
      expect(head.headers['content-length']).toBe(answer.headers['content-length']);
    }
  });

  it('answers scrapers in the Prometheus text format', async () => {
    const answer = await ask('/metrics');
    expectCommonHeaders(answer);
    expect(answer.headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/);
    for (const name of ['accepted', 'stored_records', 'replayed', 'refused']) {
      expect(answer.text).toMatch(new RegExp(`^# TYPE ingest_${name}_total counter$`, 'm'));
    }
  });

  it('reports the running release, as do its metrics, log and command line', async () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
    const answer = await ask('/version');
    expectCommonHeaders(answer);
    expect(answer.status).toBe(200);
    expect(answer.headers).toMatchObject({ 'content-type': 'application/json', 'cache-control': 'no-store' });
    expect(answer.body).toMatchObject({ version, node: expect.stringMatching(/^24\./) });
    const { text } = await ask('/metrics');
    expect(text).toMatch(
      new RegExp(`^sealgate_build_info\\{.*version="${version.replaceAll('.', '\\.')}".*\\} 1$`, 'm'),
    );
    const [first = ''] = setup.gateway.logText().split('\n');
    expect(JSON.parse(first)).toMatchObject({ event: 'service_starting', version });
    const said = spawnSync(process.execPath, [programOf('ingest-gateway', 'main'), '--version'], {
      encoding: 'utf8',
      env: {},
    });
    expect(said.stdout).toMatch(new RegExp(`^ingest-gateway ${version} \\(commit .+, Node 24\\..+\\)\n$`));
  });

  it('checks a configuration without starting', () => {
    const check = (env: Record<string, string>) =>
      spawnSync(process.execPath, [programOf('ingest-gateway', 'main'), '--check-config'], { encoding: 'utf8', env });
    const bad = check({ PORT: 'x' });
    expect({ status: bad.status, stdout: bad.stdout }).toEqual({ status: 1, stdout: '' });
    expect(bad.stderr).toContain('ingest-gateway: The configuration is not valid:\n- PORT: must be a whole number');
    const good = {
      // Nothing listens there: the check opens no connection.
      DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
      SERVER_SECRETS: `a:${'0'.repeat(64)}`,
      LEDGER_ORIGIN: 'ledger.test/sealgate',
    };
    const { status, stdout, stderr } = check(good);
    expect({ status, stdout, stderr }).toEqual({
      status: 0,
      stdout: 'ingest-gateway: the configuration is valid\n',
      stderr: '',
    });
    const exposed = check({ ...good, HOST: '0.0.0.0' });
    expect({ status: exposed.status, stderr: exposed.stderr }).toEqual({
      status: 1,
      stderr: expect.stringContaining('set TLS_CERT_FILE and TLS_KEY_FILE'),
    });
  });

  it('uses no client input as a label', async () => {
    const networkId = await setup.newNetwork();
    const { rawKey, id } = await setup.newKey(networkId);
    await sender(setup.gateway.public, networkId, rawKey).post({ id: 'sent-by-a-caller', type: 'sent-type' });
    await sender(setup.gateway.public, 'sent-network', rawKey).post({});
    await setup.gateway.public.send({ method: 'SENT', path: '/sent/path' }).catch(() => undefined);
    const { text } = await ask('/metrics');
    for (const sent of ['sent-by-a-caller', 'sent-type', 'sent-network', 'SENT', '/sent/path', networkId, id, rawKey]) {
      expect(text).not.toContain(sent);
    }
  });

  it('has no other paths', async () => {
    const networkId = await setup.newNetwork();
    const paths = ['/', '/health', '/health/', '/health/live/', '/Health/live', '/metrics/', '/ready', `/${networkId}`];
    for (const path of [...paths, '/admin/v1/networks', '/openapi.json', '/.well-known/jwks.json', '/favicon.ico']) {
      const answer = await ask(path);
      expectProblem(answer, 'NOT_FOUND');
      expectCommonHeaders(answer);
    }
    for (const path of ['/metrics', '/version', '/health/live', '/health/ready', '/health/startup']) {
      const answer = await ask(path, 'POST');
      expectProblem(answer, 'METHOD_NOT_ALLOWED');
      expect(answer.headers['allow']).toBe('GET, HEAD');
    }
  });

  it('answers like the other listeners, without authentication', async () => {
    const answer = await setup.gateway.ops.send({
      path: '/metrics?x=1',
      headers: { 'X-Request-Id': 'scrape-1', Authorization: 'Bearer x' },
    });
    expect({ status: answer.status, id: answer.headers['x-request-id'] }).toEqual({ status: 200, id: 'scrape-1' });
  });
});

describe('A gateway without admin tokens', () => {
  it(
    'has no admin paths, and answers everything else',
    async () => {
      const setup = await contractSetup({ env: { ADMIN_TOKEN_HASHES: '' } });
      try {
        for (const path of ['/admin/v1/networks', '/admin/v1/events', '/']) {
          const answer = await setup.gateway.admin.send({
            path,
            headers: { Authorization: `Bearer ${setup.adminToken}` },
          });
          expectProblem(answer, 'NOT_FOUND');
        }
        expect((await setup.gateway.ops.send({ path: '/health/ready' })).status).toBe(200);
      } finally {
        await setup.stop();
      }
    },
    setupTimeoutMs,
  );
});
