import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { TLSSocket, type ConnectionOptions } from 'node:tls';
import { afterEach, expect, it } from '@jest/globals';
import { requestCancel } from './cancel-request.ts';

const CANCEL = '00000010' + '04d2162e' + '00000102' + 'fffffffe'; // 16 bytes, 80877102, the process, the secret
const SSL_REQUEST = '00000008' + '04d2162f';
const psk = Buffer.alloc(16, 7);

let server: Server;
afterEach(() => new Promise((resolve) => server.close(resolve)));

/** What a server that does `greet` with each connection has received by its end. */
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
  requestCancel({ host: '127.0.0.1', port, ssl, processId: 0x102, secretKey: -2 }, 2_000);
  await ended;
  return Buffer.concat(got).toString('hex');
}

const listen = (socket: Socket, got: Buffer[]): void => void socket.on('data', (bytes) => got.push(bytes));

it('is one message of 16 bytes on a connection of its own', async () => {
  expect(await received(false, listen)).toBe(CANCEL);
});

it('asks for TLS first where the connection had it', async () => {
  const ssl = { ciphers: 'PSK', pskCallback: () => ({ psk, identity: 'me' }), checkServerIdentity: () => undefined };
  const text = await received(ssl, (socket, got) => {
    socket.once('data', (request) => {
      got.push(request);
      socket.write('S');
      const options = { isServer: true, ciphers: 'PSK', pskCallback: () => psk }; // Node's types know it for a whole server.
      listen(new TLSSocket(socket, options), got);
    });
  });
  expect(text).toBe(SSL_REQUEST + CANCEL);
});

it('sends no secret to a server that refuses TLS', async () => {
  const text = await received(true, (socket, got) => {
    listen(socket, got);
    socket.once('data', () => socket.write('N'));
  });
  expect(text).toBe(SSL_REQUEST);
});

it('gives up on a server that says nothing', async () => {
  const got = received(true, (socket, all) => {
    listen(socket, all);
    socket.setTimeout(10_000);
  });
  expect(await got).toBe(SSL_REQUEST);
}, 10_000);

it('throws nothing when there is no server', async () => {
  server = createServer();
  requestCancel({ host: '127.0.0.1', port: 1, ssl: false, processId: 1, secretKey: 1 }, 100);
  await new Promise<void>((resolve) => void server.listen(0, resolve));
});
