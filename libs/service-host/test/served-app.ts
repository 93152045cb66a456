import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { Log, LogFields } from '@sealgate/observability';
import type { HostConfig, ServedApp } from '../src/index.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** A minimal app with the interface that the host requires. */
export function servedApp(handler: Handler): ServedApp {
  let draining = false;
  const listener: Handler = (request, response) => {
    if (draining) response.setHeader('Connection', 'close');
    handler(request, response);
  };
  return Object.assign(listener, {
    serverOptions: { keepAliveTimeout: 60_000 },
    attachTo: (server: Server) => void server.on('request', listener),
    drain: () => {
      draining = true;
    },
  });
}

/** Answers `GET /ready` and `GET /startup` from the host's checks, like the ops listener. */
export function opsApp(
  checks: Record<'ready' | 'startup', () => { ok: boolean; body?: object } | Promise<{ ok: boolean }>>,
) {
  return servedApp((request, response) => {
    const check = request.url === '/ready' ? checks.ready : checks.startup;
    void Promise.resolve(check()).then(({ ok, ...rest }) => {
      response.writeHead(ok ? 200 : 503, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify(rest));
    });
  });
}

/** Free ports on loopback only. */
export const LOCAL: HostConfig = {
  host: '127.0.0.1',
  port: 0,
  opsHost: '127.0.0.1',
  opsPort: 0,
  adminHost: '127.0.0.1',
  adminPort: undefined,
  tlsCertFile: undefined,
  tlsKeyFile: undefined,
  tlsTerminatedUpstream: false,
  drainDelayMs: 0,
  drainTimeoutMs: 5_000,
};

interface RecordedLine {
  readonly level: string;
  readonly event: string;
  readonly fields: LogFields | undefined;
}

export function recordingLog(): { log: Log; lines: RecordedLine[] } {
  const lines: RecordedLine[] = [];
  const at = (level: string) => (event: string, fields?: LogFields) => void lines.push({ level, event, fields });
  const log: Log = { error: at('error'), warn: at('warn'), info: at('info'), debug: at('debug'), child: () => log };
  return { log, lines };
}

/** Whether the port accepts connections. */
export function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}
