import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { AppError } from '@sealgate/errors';
import type { LogFields, RequestRecord } from '@sealgate/observability';
import { testClock } from '@sealgate/testing';
import { createApp, routeFor, type App, type AppOptions, type Guard, type Meters, type Route } from '../src/index.ts';

export interface TestCaller {
  readonly name: string;
  readonly permissions: readonly string[];
}

/** `route` of the test surfaces. */
export const testRoute = routeFor<TestCaller>();

/** Default fields of test routes. */
export const plain = {
  operationId: 'op',
  summary: 'An operation.',
  permit: 'open',
  charge: 'none',
  idempotency: 'none',
  responses: { 200: { description: 'Done.' } },
  errors: [],
} as const;

export const LIMIT_HEADERS = { 'RateLimit-Policy': '"key";q=100;w=5', RateLimit: '"key";r=99;t=1' };

export interface TestLog {
  readonly lines: { level: string; event: string; fields: LogFields | undefined }[];
  readonly records: RequestRecord[];
}

interface TestSurface extends TestLog {
  readonly app: App;
  /** Calls of the guard, in order. */
  readonly asked: string[];
  readonly observed: { method: string; template: string; status: number }[];
  readonly clock: ReturnType<typeof testClock>;
}

/** Test keys: `good` has `things:read`, `poor` is over quota, `down` makes the key store unavailable. */
function testGuard(asked: string[], changes: Partial<Guard<TestCaller>> = {}): Guard<TestCaller> {
  return {
    challenge: 'ApiKey',
    authenticate: async (request) => {
      const [key] = request.header('x-api-key');
      asked.push(`authenticate ${key}`);
      if (key === 'down') throw new AppError('UNAVAILABLE', 'The key store is away.');
      if (key !== 'good' && key !== 'poor') throw new AppError('UNAUTHENTICATED', `No key ${key}.`);
      return { name: key, permissions: ['things:read'] };
    },
    permits: (caller, permission) => {
      asked.push(`permits ${permission}`);
      return caller.permissions.includes(permission);
    },
    charge: async (caller, cost) => {
      asked.push(`charge ${cost}`);
      const admitted = caller.name !== 'poor';
      return { admitted, headers: LIMIT_HEADERS, retryAfterSeconds: admitted ? 0 : 3 };
    },
    ...changes,
  };
}

export function testSurface(
  routes: readonly Route<TestCaller>[],
  changes: Partial<AppOptions<TestCaller>> & { readonly guardChanges?: Partial<Guard<TestCaller>> } = {},
): TestSurface {
  const { guardChanges, ...options } = changes;
  const asked: string[] = [];
  const observed: TestSurface['observed'] = [];
  const { log, lines, records } = testLog();
  const clock = testClock();
  const metrics: Meters = {
    route: (method, template) => ({ observe: (status) => observed.push({ method, template, status }) }),
  };
  const app = createApp<TestCaller>({
    routes,
    guard: testGuard(asked, guardChanges),
    log,
    metrics,
    now: clock.now,
    newId: () => 'made-here',
    trustProxy: false,
    tlsTerminatedUpstream: false,
    head: true,
    ...options,
  });
  return { app, lines, records, asked, observed, clock };
}

export function testLog(): TestLog & { readonly log: AppOptions<never>['log'] } {
  const lines: TestLog['lines'] = [];
  const records: RequestRecord[] = [];
  const at = (level: string) => (event: string, fields?: LogFields) => void lines.push({ level, event, fields });
  const log: AppOptions<never>['log'] = {
    error: at('error'),
    warn: at('warn'),
    info: at('info'),
    debug: at('debug'),
    child: () => log,
    requests: { write: (record) => void records.push({ ...record }) },
  };
  return { log, lines, records };
}

export interface ListeningSurface {
  readonly port: number;
  readonly server: Server;
  close(): Promise<void>;
}

/** Serves an app on a real socket, like the host of a service; tests that need no socket use supertest. */
export async function listen(app: App, options: Parameters<typeof createServer>[0] = {}): Promise<ListeningSurface> {
  const server = createServer({ ...app.serverOptions, ...options });
  app.attachTo(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  // The address of a TCP server is an object.
  return { port: (server.address() as AddressInfo).port, server, close };
}

/** Sends raw bytes and resolves with everything received until the server closes. */
export function sendRaw(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text, 'latin1'));
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('error', reject);
    socket.on('close', () => resolve(Buffer.concat(chunks).toString('latin1')));
  });
}

interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** Sends one raw request and parses its answer. The connection is then closed. */
export async function sendRequest(port: number, head: readonly string[], body = ''): Promise<RawAnswer> {
  const text = await sendRaw(port, `${head.join('\r\n')}\r\nHost: test\r\nConnection: close\r\n\r\n${body}`);
  return parseAnswer(text);
}

/** Sends one request to an app with these routes; returns the answer and the log. */
export async function answerOf(routes: Parameters<typeof testSurface>[0], head: readonly string[]) {
  const surface = testSurface(routes);
  const listening = await listen(surface.app);
  try {
    return { surface, answer: await sendRequest(listening.port, head) };
  } finally {
    await listening.close();
  }
}

export function parseAnswer(text: string): RawAnswer {
  const end = text.indexOf('\r\n\r\n');
  const [statusLine = '', ...lines] = text.slice(0, end).split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)]),
  );
  const body = text.slice(end + 4);
  const isJson = /json/.test(headers['content-type'] ?? '');
  return { status: Number(statusLine.split(' ')[1]), headers, body: isJson && body !== '' ? JSON.parse(body) : body };
}
