import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import { certificateAuthority, chaincodeGreeting } from '@sealgate/testing/fabric';

const program = join(import.meta.dirname, 'main.ts');
const run = (env: NodeJS.ProcessEnv) => spawn(process.execPath, [program], { env, stdio: ['ignore', 'pipe', 'pipe'] });

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'chaincode-main-'));
});
afterAll(() => rmSync(directory, { recursive: true }));

async function takenPort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    server.close();
    await once(server, 'close');
  };
  return { address: `127.0.0.1:${port}`, close };
}

describe('the chaincode service', () => {
  it('reports missing settings, and exits with 1', () => {
    const { status, stderr } = spawnSync(process.execPath, [program], { env: {}, encoding: 'utf8' });
    expect(status).toBe(1);
    expect(stderr).toContain('CHAINCODE_SERVER_ADDRESS is missing. CHAINCODE_ID is missing.');
  });

  it('exits with 1 if its address is in use', async () => {
    const { address, close } = await takenPort();
    const child = run({ CHAINCODE_SERVER_ADDRESS: address, CHAINCODE_ID: 'records:1' });
    expect(await once(child, 'exit')).toEqual([1, null]);
    await close();
  }, 20_000);

  it('registers with each connecting peer, and exits with 0 on SIGTERM', async () => {
    const { address, close } = await takenPort();
    await close();
    const child = run({ CHAINCODE_SERVER_ADDRESS: address, CHAINCODE_ID: 'records:1' });
    await until(async () => (await chaincodeGreeting(address)) === 'records:1', {
      timeoutMs: 15_000,
    });
    expect(await chaincodeGreeting(address)).toBe('records:1');
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
  }, 30_000);

  it('serves TLS, and requires client certificates if a CA is configured', async () => {
    const authority = certificateAuthority('Org1MSP');
    const server = authority.issue('chaincode', { loopback: true });
    const files = { cert: server.cert, key: server.key, ca: authority.cert };
    for (const [name, pem] of Object.entries(files)) writeFileSync(join(directory, name), pem);
    const { address, close } = await takenPort();
    await close();
    const child = run({
      CHAINCODE_SERVER_ADDRESS: address,
      CHAINCODE_ID: 'records:1',
      CHAINCODE_TLS_CERT_FILE: join(directory, 'cert'),
      CHAINCODE_TLS_KEY_FILE: join(directory, 'key'),
      CHAINCODE_TLS_CLIENT_CA_FILE: join(directory, 'ca'),
    });
    const url = address.replace('127.0.0.1', 'localhost');
    const ca = authority.cert;
    await until(async () => (await chaincodeGreeting(url, { ca, ...authority.issue('peer0') })) === 'records:1', {
      timeoutMs: 15_000,
    });
    await expect(chaincodeGreeting(url, { ca })).rejects.toMatchObject({ code: 14 });
    await expect(chaincodeGreeting(url)).rejects.toMatchObject({ code: 14 });
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
  }, 30_000);
});
