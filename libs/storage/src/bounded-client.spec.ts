import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { TLSSocket, type ConnectionOptions } from 'node:tls';
import { afterEach, expect, it } from '@jest/globals';
import { requestCancel } from './bounded-client.ts';

const CANCEL = '00000010' + '04d2162e' + '00000102' + 'fffffffe'; // 16 bytes, 80877102, the process, the secret
const SSL_REQUEST = '00000008' + '04d2162f';
const psk = Buffer.alloc(16, 7);

let server: Server;
afterEach(() => new Promise((resolve) => server.close(resolve)));

/** The bytes a server has received by the end of the connection; `greet` handles it. */
async function received(
  ssl: boolean | ConnectionOptions,
  greet: (socket: Socket, got: Buffer[]) => void,
): Promise<string> {
  const got: Buffer[] = [];
  const ended = new Promise<void>((resolve) => {
    server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.on('close', () => resolve());
      greet(socket, got);
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // A server on TCP has a port, not a path.
  requestCancel({ host: '127.0.0.1', port, ssl, processID: 0x102, secretKey: -2 }, 2_000);
  await ended;
  return Buffer.concat(got).toString('hex');
}

const listen = (socket: Socket, got: Buffer[]): void => void socket.on('data', (bytes) => got.push(bytes));

it('a cancel request is one message of 16 bytes on a new connection', async () => {
  expect(await received(false, listen)).toBe(CANCEL);
});

it('a cancel request uses TLS if the connection did', async () => {
  const ssl = { ciphers: 'PSK', pskCallback: () => ({ psk, identity: 'me' }), checkServerIdentity: () => undefined };
  const text = await received(ssl, (socket, got) => {
    socket.once('data', (request) => {
      got.push(request);
      socket.write('S');
      const options = { isServer: true, ciphers: 'PSK', pskCallback: () => psk }; // Node's types declare it for servers only.
      listen(new TLSSocket(socket, options), got);
    });
  });
  expect(text).toBe(SSL_REQUEST + CANCEL);
});

it('a cancel request is not sent to a server that refuses TLS', async () => {
  const text = await received(true, (socket, got) => {
    listen(socket, got);
    socket.once('data', () => socket.write('N'));
  });
  expect(text).toBe(SSL_REQUEST);
});

it('a cancel request times out on a silent server', async () => {
  const got = received(true, (socket, all) => {
    listen(socket, all);
    socket.setTimeout(10_000);
  });
  expect(await got).toBe(SSL_REQUEST);
}, 10_000);

it('a cancel request throws nothing if there is no server', async () => {
  server = createServer();
  requestCancel({ host: '127.0.0.1', port: 1, ssl: false, processID: 1, secretKey: 1 }, 100);
  await new Promise<void>((resolve) => void server.listen(0, resolve));
});
