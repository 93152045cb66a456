import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { StartError } from './start-error.ts';
import type { TlsMaterial } from './tls-files.ts';

/** What a host needs of an app; `createApp` of the http library makes one. */
export interface ServedApp {
  (request: IncomingMessage, response: ServerResponse): void;
  readonly serverOptions: ServerOptions;
  attachTo(server: Server): void;
  drain(): void;
}

export interface ListenOptions {
  readonly app: ServedApp;
  readonly host: string;
  readonly port: number;
  /** The variable that says which port, for the sentence about a port that is taken. */
  readonly portVariable: string;
  readonly tls?: TlsMaterial | undefined;
}

/** One open listener. */
export interface Listener {
  /** Without trailing slash. */
  readonly url: string;
  readonly port: number;
  readonly server: Server & Partial<{ setSecureContext(material: TlsMaterial): void }>;
  /** From now on every answer tells its connection to close. */
  drain(): void;
  /** Takes no new connections, and waits for requests in flight; past `timeoutMs` they are cut. */
  close(timeoutMs: number): Promise<void>;
}

/** How often a closing listener looks for connections whose last request has been answered. */
const IDLE_CHECK_MS = 50;

/** @throws StartError when the address cannot be listened on. */
export async function listen(options: ListenOptions): Promise<Listener> {
  const { app, host, port, tls } = options;
  const server =
    tls === undefined ? createServer(app.serverOptions) : createSecureServer({ ...app.serverOptions, ...tls });
  // A client may say that it has sent everything and still wait for the answer.
  Object.assign(server, { httpAllowHalfOpen: true });
  app.attachTo(server);
  const sockets = trackSockets(server, tls === undefined ? 'connection' : 'secureConnection');
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(startError(error, options)));
    server.listen(port, host, resolve);
  });
  // A server that listens on TCP has an address that is an object.
  const address = server.address() as AddressInfo;
  const shownHost = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return {
    url: `${tls === undefined ? 'http' : 'https'}://${shownHost}:${address.port}`,
    port: address.port,
    server,
    drain: () => app.drain(),
    close: (timeoutMs) => close(server, sockets, timeoutMs),
  };
}

function startError(error: NodeJS.ErrnoException, { host, port, portVariable }: ListenOptions): StartError {
  const at = `${host}:${port}`;
  const sentence =
    {
      EADDRINUSE: `${at} is taken by another process: stop it, or set ${portVariable} to a free port.`,
      EACCES: `This user may not listen on ${at}: set ${portVariable} to a port above 1023.`,
      EADDRNOTAVAIL: `${host} is not an address of this machine, so ${portVariable} cannot be opened there.`,
      ENOTFOUND: `${host} is not a name of this machine, so ${portVariable} cannot be opened there.`,
    }[error.code ?? ''] ?? `${at} cannot be listened on: ${error.message}.`;
  return new StartError(sentence, { cause: error });
}

function trackSockets(server: Server, event: 'connection' | 'secureConnection'): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  server.on(event, (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return sockets;
}

function close(server: Server, sockets: ReadonlySet<Socket>, timeoutMs: number): Promise<void> {
  return new Promise((resolve) => {
    const closeIdle = () => {
      server.closeIdleConnections();
      // To Node a connection that has not sent a byte yet is not idle but slow with its headers. Load balancers hold such.
      for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
    };
    // A connection is idle once its answer has been sent, or once its TLS handshake is over: it is closed then, not at a
    // timeout.
    const sweep = setInterval(closeIdle, IDLE_CHECK_MS);
    const done = () => {
      clearInterval(sweep);
      clearTimeout(cut);
      resolve();
    };
    const cut = setTimeout(() => {
      server.closeAllConnections();
      // A connection in the middle of its TLS handshake is not among them, and would hold the server open.
      done();
    }, timeoutMs);
    server.close(done);
    closeIdle();
  });
}
