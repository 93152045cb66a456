import { createPrivateKey, randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { until } from '@sealgate/testing';
import { certificateAuthority, type IssueOptions } from '@sealgate/testing/fabric';
import { MisconfiguredError, UnavailableError } from './fabric-errors.ts';
import { FABRIC_REASONS } from './fabric-reasons.ts';
import { caught, read, write } from './testing/contract-calls.ts';
import { openTestFabric, type TestFabric } from './testing/open-test-fabric.ts';

const folder = mkdtempSync(join(tmpdir(), 'sealgate-tls-'));
const stranger = certificateAuthority('stranger');
const clientCa = certificateAuthority('clients');
let test: TestFabric;
let mutual: TestFabric;
const opened: (() => void)[] = [];

beforeAll(async () => {
  [test, mutual] = await Promise.all([openTestFabric(), openTestFabric({ tlsClientCa: clientCa.cert })]);
}, 60_000);
afterAll(async () => {
  for (const close of opened) close();
  await Promise.all([test.close(), mutual.close()]);
  rmSync(folder, { recursive: true });
});

function fileWith(text: string | Buffer): string {
  const file = join(folder, randomUUID());
  writeFileSync(file, text);
  return file;
}

const clientFiles = (authority: typeof stranger, options: IssueOptions = {}) => {
  const { cert, key } = authority.issue('the service', options);
  return { tlsCertFile: fileWith(cert), tlsKeyFile: fileWith(key) };
};

/** Serves TLS on its own port, without a protocol on top. */
async function tlsServer(authority: typeof stranger, validTo?: Date): Promise<string> {
  const names = { loopback: true, ...(validTo === undefined ? {} : { validTo }) };
  const server = createTlsServer(authority.issue('peer', names));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  opened.push(() => server.close());
  return `localhost:${(server.address() as { port: number }).port}`;
}

const weak = () => clientFiles(clientCa, { rsaBits: 1024 });

function encrypted() {
  const files = clientFiles(clientCa);
  const sealed = { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' } as const;
  writeFileSync(files.tlsKeyFile, createPrivateKey(readFileSync(files.tlsKeyFile)).export(sealed));
  return files;
}

const openAt = (where: TestFabric, peers: object[]) => {
  const problems: string[] = [];
  const client = where.open({
    connection: where.connection({ peers }),
    observer: { problem: (what, detail) => void problems.push(`${what} ${detail}`) },
  });
  return { client, problems };
};

async function reasonAt(where: TestFabric, peer: object): Promise<unknown> {
  const { client } = openAt(where, [peer]);
  const health = await client.health([read('health')]);
  await client.close();
  expect(health.ok).toBe(false);
  return health.contracts[0]!.reason;
}

const LONG_AGO = new Date('2021-01-01T00:00:00Z');

/** Starts a server without TLS, and returns its port. `opened` closes its sockets: a TLS handshake would hang. */
async function plainServer(answer: (socket: Socket) => void): Promise<number> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket.on('error', () => undefined));
    answer(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  opened.push(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as { port: number }).port;
}

describe('the reason for a failed connection', () => {
  it.each<[string, string, () => Promise<object> | object]>([
    ['another authority', 'tls_ca_wrong', () => ({ endpoint: test.peer.url, tlsCaFile: fileWith(stranger.cert) })],
    [
      'another host name',
      'tls_host_name_wrong',
      () => ({ endpoint: test.peer.url, tlsCaFile: test.peer.tlsCaFile, serverNameOverride: 'peer.example' }),
    ],
    ['an unresolvable name', 'dns_failed', () => ({ endpoint: 'peer.invalid:7051', tlsCaFile: test.peer.tlsCaFile })],
    [
      'a port without a listener',
      'connection_refused',
      async () => {
        const server = createServer();
        await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
        const { port } = server.address() as { port: number };
        await new Promise((resolve) => server.close(resolve));
        return { endpoint: `localhost:${port}`, tlsCaFile: test.peer.tlsCaFile };
      },
    ],
    [
      'a port that does not speak TLS',
      'tls_not_spoken',
      async () => {
        const port = await plainServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
        return { endpoint: `localhost:${port}`, tlsCaFile: test.peer.tlsCaFile };
      },
    ],
    [
      'an expired certificate',
      'tls_certificate_expired',
      async () => ({ endpoint: await tlsServer(stranger, LONG_AGO), tlsCaFile: fileWith(stranger.cert) }),
    ],
    [
      'an expired authority',
      'tls_ca_expired',
      async () => {
        const expired = certificateAuthority('expired', LONG_AGO);
        return { endpoint: await tlsServer(expired), tlsCaFile: fileWith(expired.cert) };
      },
    ],
    [
      'a file without a certificate',
      'tls_files_unusable',
      () => ({ endpoint: test.peer.url, tlsCaFile: fileWith('no certificate') }),
    ],
    [
      'a peer that requires a client certificate',
      'tls_client_certificate_required',
      () => ({ endpoint: mutual.peer.url, tlsCaFile: mutual.peer.tlsCaFile }),
    ],
    [
      'an endpoint that is not a gateway, such as an orderer',
      'not_a_gateway',
      () => orderer().then((endpoint) => ({ endpoint })),
    ],
  ])('%s: %s', async (_what, reason, peer) => {
    expect(await reasonAt(test, await peer())).toBe(reason);
  });
});

/** A gRPC server without the gateway service. */
async function orderer(): Promise<string> {
  const server = new Server();
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    ),
  );
  opened.push(() => server.forceShutdown());
  return `localhost:${port}`;
}

describe('TLS files', () => {
  it('that were wrong at the start are loaded once corrected in place', async () => {
    const tlsCaFile = fileWith(stranger.cert);
    const { client, problems } = openAt(test, [{ endpoint: test.peer.url, tlsCaFile }]);
    expect(await caught(client.submit(write(randomUUID())))).toBeInstanceOf(UnavailableError);
    writeFileSync(tlsCaFile, 'half a fi');
    await until(() =>
      caught(client.evaluate(read('a'))).then(() => problems.some((text) => text.startsWith('tls_not'))),
    );
    expect(problems.at(-1)).toContain('tlsCaFile holds no certificate, or one that cannot be read');
    writeFileSync(tlsCaFile, readFileSync(test.peer.tlsCaFile!));
    const startedAt = performance.now();
    await until(async () => (await caught(client.evaluate(read('a')))) === undefined);
    expect(performance.now() - startedAt).toBeLessThan(3000);
    expect(await client.submit(write(randomUUID()))).toHaveProperty('blockNumber');
    // A bundle written partially: only the first, irrelevant authority is complete.
    writeFileSync(tlsCaFile, `${stranger.cert}${readFileSync(test.peer.tlsCaFile!, 'utf8').slice(0, 300)}`);
    await new Promise((resolve) => setTimeout(resolve, 1100));
    expect(await caught(client.evaluate(read('a')))).toBeUndefined();
  }, 20_000);

  it('that are replaced interrupt no running call', async () => {
    const files = clientFiles(clientCa);
    const { tlsCaFile } = mutual.peer;
    const { client } = openAt(mutual, [{ endpoint: mutual.peer.url, tlsCaFile, ...files }]);
    await client.submit(write(randomUUID()));
    mutual.peer.orderer.hold();
    const underWay = client.submit(write(randomUUID()));
    await until(() => mutual.peer.channel('main').pending() === 1);
    const { cert, key } = clientCa.issue('the service, rotated');
    writeFileSync(files.tlsCertFile, cert);
    writeFileSync(files.tlsKeyFile, key);
    await new Promise((resolve) => setTimeout(resolve, 1100));
    const next = client.submit(write(randomUUID()));
    await until(() => mutual.peer.channel('main').pending() === 2);
    mutual.peer.orderer.release();
    await Promise.all([underWay, next]);
  }, 20_000);
});

describe('a misconfigured peer', () => {
  it.each<[string, string, () => object]>([
    ['is weaker than OpenSSL takes', 'tlsCertFile or tlsKeyFile is refused by OpenSSL: ERR_SSL_EE_KEY_TOO_SMALL', weak],
    ['is encrypted', 'tlsKeyFile is encrypted, but passphrases are not supported', encrypted],
  ])('with a client certificate whose key %s does not prevent using another one', async (_what, problem, files) => {
    const { url: endpoint, tlsCaFile } = test.peer;
    const wrong = { endpoint: 'localhost:1', tlsCaFile, ...files() };
    const { client, problems } = openAt(test, [wrong, { endpoint, tlsCaFile }]);
    expect(await client.submit(write(randomUUID()))).toHaveProperty('blockNumber');
    expect(problems).toEqual([`tls_not_reloaded localhost:1: ${problem}`]);
    expect(await reasonAt(test, wrong)).toBe('tls_files_unusable');
  });

  it('without its TLS files does not prevent using another one', async () => {
    const { tlsCaFile } = test.peer;
    const absent = { endpoint: 'localhost:1', tlsCaFile: join(folder, 'absent') };
    const { client, problems } = openAt(test, [absent, { endpoint: test.peer.url, tlsCaFile }]);
    expect(await client.submit(write(randomUUID()))).toHaveProperty('blockNumber');
    expect(problems).toEqual(['tls_not_reloaded localhost:1: a TLS file cannot be read']);
  });

  it('is logged with its own message once a minute, and another one is asked', async () => {
    const endpoint = await orderer();
    const { client, problems } = openAt(test, [
      { endpoint },
      { endpoint: test.peer.url, tlsCaFile: test.peer.tlsCaFile },
    ]);
    for (let time = 0; time < 3; time += 1) await client.submit(write(randomUUID()));
    const told = problems.filter((text) => text.startsWith('misconfigured'));
    expect(told).toEqual([expect.stringContaining(`${endpoint} main/records as default: not_a_gateway: `)]);
    expect(told[0]).toMatch(/does not implement/);
  });

  it('is unavailable while another one that is down may answer otherwise', async () => {
    const endpoint = await orderer();
    const { client } = openAt(test, [{ endpoint }, { endpoint: 'localhost:1' }]);
    expect(await caught(client.submit(write(randomUUID())))).toBeInstanceOf(UnavailableError);
    const { client: alone } = openAt(test, [{ endpoint }]);
    expect(await caught(alone.submit(write(randomUUID())))).toBeInstanceOf(MisconfiguredError);
  });

  it('without the channel is reported within the second of a probe, although another one is silent', async () => {
    const port = await plainServer(() => undefined);
    const { url: endpoint, tlsCaFile } = test.peer;
    const client = test.open({
      connection: test.connection({
        peers: [
          { endpoint, tlsCaFile },
          { endpoint: `localhost:${port}`, tlsCaFile },
        ],
        channels: [{ name: 'none' }, { name: 'main' }],
      }),
    });
    await client.evaluate(read('a')).catch(() => undefined);
    const second = new Promise((resolve) => setTimeout(resolve, 1000, 'a probe has given up'));
    expect(await Promise.race([client.health([{ ...read('a'), channel: 'none' }, read('a')]), second])).toMatchObject({
      ok: true,
      contracts: [{ reason: 'channel_missing' }, { reason: null }],
    });
  });

  it('is listed by contract, and one contract that answers is enough', async () => {
    const connection = test.connection({ channels: [{ name: 'none' }, { name: 'main' }] });
    const client = test.open({ connection });
    const calls = [{ ...read('a'), channel: 'none' }, read('a'), { ...read('a'), chaincode: 'absent' }];
    expect(await client.health(calls)).toEqual({
      ok: true,
      problem: null,
      contracts: [
        {
          channel: 'none',
          chaincode: 'records',
          ok: false,
          reason: 'channel_missing',
          detail: FABRIC_REASONS.channel_missing,
        },
        { channel: 'main', chaincode: 'records', ok: true, reason: null, detail: null },
        {
          channel: 'main',
          chaincode: 'absent',
          ok: false,
          reason: 'contract_missing',
          detail: FABRIC_REASONS.contract_missing,
        },
      ],
    });
    expect(
      await client.health(calls.filter(({ channel, chaincode }) => channel === 'none' || chaincode === 'absent')),
    ).toMatchObject({ ok: false, problem: expect.stringContaining('has not joined the channel') });
  });
});
