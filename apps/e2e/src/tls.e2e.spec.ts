import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem, until } from '@sealgate/testing';
import { expectCommonHeaders, expectWritten } from './harness/answers.ts';
import { contractSetup, setupTimeoutMs, type ContractSetup } from './harness/contract-setup.ts';
import { sender } from './harness/sender.ts';

/** Creates a self-signed certificate for 127.0.0.1. False without openssl. */
function makeCertificate(folder: string, name: string): boolean {
  const parameters = [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-days',
    '2',
  ];
  const names = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1'];
  const files = ['-keyout', join(folder, `${name}.key`), '-out', join(folder, `${name}.crt`)];
  return spawnSync('openssl', [...parameters, ...names, ...files], { stdio: 'ignore', timeout: 30_000 }).status === 0;
}

const folder = mkdtempSync(join(tmpdir(), 'sealgate-tls-'));
const hasOpenssl = makeCertificate(folder, 'first') && makeCertificate(folder, 'second');
if (!hasOpenssl) process.stderr.write('SKIPPED the story of TLS: there is no openssl to create a certificate.\n');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

(hasOpenssl ? describe : describe.skip)('A gateway with a certificate', () => {
  let setup: ContractSetup;
  const [certFile, keyFile] = [join(folder, 'served.crt'), join(folder, 'served.key')];
  const serve = (name: string): void => {
    renameSync(join(folder, `${name}.crt`), certFile);
    renameSync(join(folder, `${name}.key`), keyFile);
  };
  beforeAll(async () => {
    serve('first');
    const env = { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile };
    setup = await contractSetup({ env, tls: { scheme: 'https', ca: readFileSync(certFile, 'utf8') } });
  }, setupTimeoutMs);
  afterAll(() => setup.stop());

  const subject = (): Promise<string> =>
    new Promise((resolve, reject) => {
      const { port } = new URL(setup.gateway.public.origin);
      const socket = connect({ host: '127.0.0.1', port: Number(port), rejectUnauthorized: false }, () => {
        resolve(String(socket.getPeerCertificate().subject.CN));
        socket.destroy();
      });
      socket.on('error', reject);
    });

  it('serves TLS on its public listener, and nothing else there', async () => {
    const networkId = await setup.newNetwork();
    const { rawKey } = await setup.newKey(networkId);
    const answer = await sender(setup.gateway.public, networkId, rawKey).post({ over: 'tls' });
    expectWritten(answer);
    expectCommonHeaders(answer);
    expectProblem(await sender(setup.gateway.public, networkId, 'nobody').post({}), 'UNAUTHENTICATED');
    const plain = setup.gateway.public.origin.replace('https:', 'http:');
    await expect(fetch(`${plain}/${networkId}`, { method: 'POST' })).rejects.toThrow();
    expect(await subject()).toBe('first');
  });

  it('reloads a new certificate without a restart', async () => {
    serve('second');
    await until(async () => (await subject()) === 'second', { timeoutMs: 20_000, what: 'the new certificate' });
    expect(setup.gateway.isRunning).toBe(true);
  }, 30_000);
});

describe('A gateway behind a proxy that terminates TLS', () => {
  let setup: ContractSetup;
  beforeAll(async () => {
    setup = await contractSetup({ env: { TLS_TERMINATED_UPSTREAM: 'true', TRUST_PROXY: 'loopback' } });
  }, setupTimeoutMs);
  afterAll(() => setup.stop());

  it('refuses requests that the proxy received unencrypted', async () => {
    const networkId = await setup.newNetwork();
    const { rawKey } = await setup.newKey(networkId);
    const post = (protocol: string | undefined) =>
      sender(setup.gateway.public, networkId, rawKey).post({}, { headers: { 'X-Forwarded-Proto': protocol } });
    expectProblem(await post('http'), 'TLS_REQUIRED');
    expectWritten(await post('https'));
    expectWritten(await post(undefined));
  });
});
