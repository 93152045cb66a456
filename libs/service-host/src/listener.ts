import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { createSecureContext } from 'node:tls';
import type { Log } from '@sealgate/observability';
import { StartError } from './load-config.ts';

/** The app interface that the host needs; `createApp` of the http library implements it. */
export interface ServedApp {
  (request: IncomingMessage, response: ServerResponse): void;
  readonly serverOptions: ServerOptions;
  attachTo(server: Server): void;
  drain(): void;
}

interface ListenOptions {
  readonly app: ServedApp;
  readonly host: string;
  readonly port: number;
  /** The variable of the port, for the error message when it is in use. */
  readonly portVariable: string;
  readonly tls?: TlsMaterial | undefined;
}

/** One open listener. */
export interface Listener {
  /** Without trailing slash. */
  readonly url: string;
  readonly port: number;
  readonly server: Server & Partial<{ setSecureContext(material: TlsMaterial): void }>;
  /** From now on every answer closes its connection. */
  drain(): void;
  /** Stops accepting connections and waits for requests in flight; after `timeoutMs` connections are closed. */
  close(timeoutMs: number): Promise<void>;
}

/** How often a closing listener closes connections that have become idle. */
const IDLE_CHECK_MS = 50;

/** @throws StartError when it cannot listen on the address. */
export async function listen(options: ListenOptions): Promise<Listener> {
  const { app, host, port, tls } = options;
  const server =
    tls === undefined ? createServer(app.serverOptions) : createSecureServer({ ...app.serverOptions, ...tls });
  // A client may half-close its connection and still wait for the answer.
  Object.assign(server, { httpAllowHalfOpen: true });
  app.attachTo(server);
  const sockets = trackSockets(server, tls === undefined ? 'connection' : 'secureConnection');
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(startError(error, options)));
    server.listen(port, host, resolve);
  });
  // The address of a TCP server is an object.
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
      EADDRINUSE: `${at} is in use by another process: stop it, or set ${portVariable} to a free port.`,
      EACCES: `This user may not listen on ${at}: set ${portVariable} to a port above 1023.`,
      EADDRNOTAVAIL: `${host} is not an address of this machine, so ${portVariable} cannot be opened on it.`,
      ENOTFOUND: `${host} is not a name of this machine, so ${portVariable} cannot be opened on it.`,
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
      // Node does not count a connection without any received byte as idle. Load balancers keep such connections.
      for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
    };
    // A connection becomes idle when its answer is sent or its TLS handshake ends; close it then, not at a timeout.
    const sweep = setInterval(closeIdle, IDLE_CHECK_MS);
    const done = () => {
      clearInterval(sweep);
      clearTimeout(cut);
      resolve();
    };
    const cut = setTimeout(() => {
      server.closeAllConnections();
      // A connection in the middle of its TLS handshake is not included, and would keep the server open.
      done();
    }, timeoutMs);
    server.close(done);
    closeIdle();
  });
}

interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface TlsMaterial {
  readonly cert: string;
  readonly key: string;
}

/** The method of `https.Server` used here. */
interface SecureServer {
  setSecureContext(material: TlsMaterial): void;
}

/** @throws StartError when a file cannot be read, or key and certificate do not match. */
export async function readTlsFiles(files: TlsFiles): Promise<TlsMaterial> {
  try {
    return await readMatching(files);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : 'unreadable';
    throw new StartError(`The certificate in ${files.certFile} cannot be used with ${files.keyFile}: ${reason}.`, {
      cause,
    });
  }
}

/**
 * Polls the files every `pollMs` and updates the server when they change; open connections keep the old certificate. It
 * compares contents, because a mounted secret changes by a symbolic link. A pair that does not match yet, because only
 * one file was written, is retried at the next poll.
 * @returns a function that stops polling.
 */
export function followTlsFiles(
  files: TlsFiles,
  options: { readonly server: SecureServer; readonly current: TlsMaterial; readonly pollMs: number; readonly log: Log },
): () => void {
  const { server, pollMs, log } = options;
  let { current } = options;
  let lastFailure = '';
  const poll = async () => {
    try {
      const found = await readMatching(files);
      lastFailure = '';
      if (found.cert === current.cert && found.key === current.key) return;
      server.setSecureContext(found);
      current = found;
      log.info('tls_reloaded');
    } catch (error) {
      const reason = error instanceof Error ? error.message : 'unreadable';
      if (reason !== lastFailure) log.warn('tls_reload_failed', { reason });
      lastFailure = reason;
    }
  };
  const timer = setInterval(() => void poll(), pollMs).unref();
  return () => clearInterval(timer);
}

async function readMatching({ certFile, keyFile }: TlsFiles): Promise<TlsMaterial> {
  const [cert, key] = await Promise.all([readFile(certFile, 'utf8'), readFile(keyFile, 'utf8')]);
  // Throws when either is malformed or they do not match.
  createSecureContext({ cert, key });
  return { cert, key };
}
