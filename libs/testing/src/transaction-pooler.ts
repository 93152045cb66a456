import { randomBytes } from 'node:crypto';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { findPgBouncer, startPgBouncer } from '@sealgate/local-services';
import pg from 'pg';

/**
 * Like PgBouncer in transaction mode: each transaction may use another server connection; prepared statements are not
 * tracked.
 */
export interface TransactionPooler {
  /** The given URL, through the pooler. */
  readonly url: string;
  close(): Promise<void>;
}

/** An authenticated server connection; `take` receives each message. */
interface Backend {
  readonly socket: Socket;
  take: ((message: Buffer) => void) | undefined;
}

const READY = 0x5a; // Z
const TERMINATE = 0x58; // X

/** Starts one on loopback with that many server connections, assigned round-robin. */
export async function transactionPooler(url: string, backendCount = 3): Promise<TransactionPooler> {
  const clients = await Promise.all(Array.from({ length: backendCount }, () => connectedClient(url)));
  const free = clients.map(backendOf);
  const waiting: ((backend: Backend) => void)[] = [];
  const sockets = new Set<Socket>();
  const give = (backend: Backend): void => {
    backend.take = undefined;
    const next = waiting.shift();
    if (next === undefined) free.push(backend);
    else next(backend);
  };
  const lease = (use: (backend: Backend) => void): void => {
    const backend = free.shift();
    if (backend === undefined) waiting.push(use);
    else use(backend);
  };

  const server = createServer((socket) => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
    let isStarted = false;
    let backend: Backend | undefined;
    let isWaiting = false;
    let unsent: Buffer[] = [];
    const pass = (message: Buffer): void => {
      if (message[0] === TERMINATE) return void socket.end();
      if (backend !== undefined) return void backend.socket.write(message);
      unsent.push(message);
      if (isWaiting) return undefined;
      isWaiting = true;
      return lease((given) => {
        isWaiting = false;
        backend = given;
        given.take = (answer) => {
          socket.write(answer);
          // The transaction has ended, and the server connection is released.
          if (answer[0] !== READY || answer[5] !== 'I'.charCodeAt(0)) return;
          backend = undefined;
          give(given);
        };
        for (const each of unsent) given.socket.write(each);
        unsent = [];
      });
    };
    const messages = framed(pass);
    socket.on('data', (bytes) => {
      if (isStarted) return messages(bytes);
      isStarted = true;
      return void socket.write(greeting());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: Object.assign(new URL(url), { port: String(port) }).href,
    async close() {
      for (const socket of sockets) socket.destroy();
      for (const client of clients) client.connection.stream.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Whether this machine has a pgbouncer. */
export const hasPgBouncer = findPgBouncer() !== undefined;

/** The real PgBouncer in transaction mode, on loopback, with as many server connections as the stand-in. */
export async function pgBouncer(url: string): Promise<TransactionPooler> {
  const pooler = await startPgBouncer({ url, settings: { default_pool_size: '3', server_round_robin: '1' } });
  return { url: pooler.url, close: () => pooler.stop() };
}

async function connectedClient(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/** pg has authenticated; its listeners are replaced by ours. */
function backendOf(client: pg.Client): Backend {
  const { stream } = client.connection as unknown as { stream: Socket };
  stream.removeAllListeners('data');
  stream.setNoDelay(true);
  const backend: Backend = { socket: stream, take: undefined };
  stream.on(
    'data',
    framed((message) => backend.take?.(message)),
  );
  return backend;
}

/** Splits a stream into protocol messages: a type, a length that includes itself, the body. */
function framed(take: (message: Buffer) => void): (bytes: Buffer) => void {
  let kept = Buffer.alloc(0);
  return (bytes) => {
    kept = Buffer.concat([kept, bytes]);
    while (kept.length >= 5 && kept.length > kept.readInt32BE(1)) {
      const length = kept.readInt32BE(1) + 1;
      const message = kept.subarray(0, length);
      kept = kept.subarray(length);
      take(message);
    }
  };
}

/** The answer to a start-up message, with a made-up process id, as poolers send. */
function greeting(): Buffer {
  const message = (type: string, body: Buffer): Buffer => {
    const head = Buffer.alloc(5);
    head.write(type, 'latin1');
    head.writeInt32BE(body.length + 4, 1);
    return Buffer.concat([head, body]);
  };
  return Buffer.concat([
    message('R', Buffer.alloc(4)),
    message('S', Buffer.from('server_version\x0018.0\0')),
    message('S', Buffer.from('client_encoding\0UTF8\0')),
    message('K', Buffer.concat([Buffer.from([0x7f]), randomBytes(7)])),
    message('Z', Buffer.from('I')),
  ]);
}
