import { connect, type ClientHttp2Session } from 'node:http2';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { checkServerIdentity, connect as connectTls } from 'node:tls';

export interface PeerSessionOptions {
  /** `host:port`. */
  readonly endpoint: string;
  /** PEM. Absent: plaintext. */
  readonly tlsCa?: Buffer | undefined;
  /** The name in the peer's certificate, where it is not that of the endpoint. */
  readonly serverName?: string | undefined;
}

export interface PeerSessionEvents {
  /** It takes no more calls: the peer is about to stop, or it has ended. Told once or twice. */
  readonly onLeaving: () => void;
  /** `wasUp`: it was a connection once; `reason`: in words, for the calls that come next. */
  readonly onClosed: (how: { readonly wasUp: boolean; readonly reason: string }) => void;
}

export interface PeerSession {
  readonly http2: ClientHttp2Session;
  /** Calls under way fail. */
  end(reason?: Error): void;
}

const CONNECT_WITHIN_MS = 5000;
/** Fabric peers hang up on clients that ping more often than once a minute. */
export const PING_EVERY_MS = 120_000;
export const PONG_WITHIN_MS = 20_000;
/** No call has a longer deadline, so after it nothing waits for a peer that said goodbye and stays. */
const LEAVE_WITHIN_MS = 600_000;
/** What a peer may send before it hears from us: answers of many calls at once, each a whole transaction. */
const STREAM_WINDOW_BYTES = 1024 * 1024;
const CONNECTION_WINDOW_BYTES = 16 * 1024 * 1024;
/** More than 64 KiB of headers end the whole connection (nghttp2); a peer that is told so cuts the one call. */
const HEADERS_MAX_BYTES = 60_000;

/**
 * An HTTP/2 session to a peer. The socket is made here, because a session that is destroyed leaves it to a connection that
 * is still being made, or to a peer that does not hang up, for as long as either takes.
 */
export function openPeerSession(options: PeerSessionOptions, { onLeaving, onClosed }: PeerSessionEvents): PeerSession {
  const socket = openSocket(options);
  const session = connect(`${options.tlsCa === undefined ? 'http' : 'https'}://${options.endpoint}`, {
    createConnection: () => socket,
    settings: {
      enablePush: false,
      initialWindowSize: STREAM_WINDOW_BYTES,
      maxHeaderListSize: HEADERS_MAX_BYTES,
    },
    // What is under way at once is bounded by the window of calls, and not by a share of messages that fit.
    maxSessionMemory: Number.MAX_SAFE_INTEGER,
  });
  const end = (reason?: Error): void => {
    session.destroy(reason);
    socket.destroy();
  };
  const late = setTimeout(() => end(new Error('No connection was made in time.')), CONNECT_WITHIN_MS);
  const keepAlive = setInterval(() => ping(session, end), PING_EVERY_MS).unref();
  let leaving: NodeJS.Timeout | undefined;
  let wasUp = false;
  let reason = `There is no connection to ${options.endpoint}.`;
  session.once('connect', () => {
    // Node tells of it also where the session was destroyed meanwhile.
    if (session.destroyed) return;
    wasUp = true;
    clearTimeout(late);
    session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
  });
  session.on('error', (error) => {
    reason = `The connection to ${options.endpoint} broke off: ${error.message}`;
  });
  // Calls under way end there, new ones go over a new session. Nobody but they keeps the process for it.
  session.on('goaway', () => {
    session.unref();
    leaving ??= setTimeout(end, LEAVE_WITHIN_MS).unref();
    onLeaving();
  });
  session.once('close', () => {
    clearTimeout(late);
    clearInterval(keepAlive);
    clearTimeout(leaving);
    onLeaving();
    onClosed({ wasUp, reason });
  });
  return { http2: session, end };
}

function openSocket({ endpoint, tlsCa, serverName }: PeerSessionOptions): Socket {
  const { hostname, port: portText } = new URL(`tcp://${endpoint}`);
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const port = Number(portText);
  if (tlsCa === undefined) return connectTcp({ host, port, noDelay: true });
  const name = serverName ?? host;
  const socket = connectTls({
    host,
    port,
    ca: tlsCa,
    ALPNProtocols: ['h2'],
    // A name to be sent is never an address (RFC 6066 section 3).
    ...(isIP(name) === 0 ? { servername: name } : {}),
    checkServerIdentity: (_host, certificate) => checkServerIdentity(name, certificate),
  });
  return socket.setNoDelay();
}

/** A peer that is gone without a word is found out by its silence. */
function ping(session: ClientHttp2Session, end: (reason: Error) => void): void {
  const silent = setTimeout(() => end(new Error('The peer is silent.')), PONG_WITHIN_MS).unref();
  const isSent = !session.destroyed && session.ping(() => clearTimeout(silent));
  if (!isSent) clearTimeout(silent);
}
