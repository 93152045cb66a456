import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { testClock, testIds } from '@sealgate/testing';
import { compose } from '../compose.ts';
import { readConfig } from '../config.ts';
import type { ConsoleMetrics } from '../console-metrics.ts';
import { CLIENT, testProvider, type TestProvider } from './test-provider.ts';

interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly rawHeaders: readonly string[];
  readonly body: string;
}

export interface TestConsole {
  readonly url: string;
  readonly provider: TestProvider;
  /** The requests that the surface received. */
  readonly seen: Seen[];
  /** The response of the surface; default 200 `{}`, and the `whoami` of an operator. */
  answer: (request: IncomingMessage, response: ServerResponse, seen: Seen) => void;
  readonly surface: Server;
  readonly counted: string[];
  readonly logged: string[];
  readonly clock: ReturnType<typeof testClock>;
  readonly ready: () => Promise<{ readonly ok: boolean; readonly body?: object }>;
  /** A second process of the same console, with its own cache. */
  another(): Promise<string>;
  /** Ends the pauses of the background work of all processes. */
  tick(): void;
  stop(): Promise<void>;
}

/** For a provider that chooses the audience by scope. */
export const SCOPES = { api: 'api://risk/use', admin: 'api://risk/operate' } as const;
export const AUDIENCES = { api: 'https://api.example.com', admin: 'https://admin.example.com' } as const;

/** The `whoami` of an operator. */
export const WHOAMI = JSON.stringify({ roles: ['operator'], permissions: ['admin:change', 'admin:read'] });

const INDEX = '<!doctype html><meta name="csp-nonce" content="__CSP_NONCE__"><div id="root"></div>';
const FILES = new Map([
  ['/assets/index-4f3a.js', file('text/javascript; charset=utf-8', `/*${'x'.repeat(5000)}*/`, true)],
  ['/favicon.svg', file('image/svg+xml', '<svg/>', false)],
  ['/verify.html', file('text/html; charset=utf-8', '<script>1</script>', false)],
]);

function file(contentType: string, text: string, isImmutable: boolean) {
  return { bytes: Buffer.from(text), contentType, isImmutable };
}

async function listening(handle: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = createServer(handle);
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** A running console with a real provider and a stub surface, on ports of its own. */
export async function testConsole({
  accessTokenSeconds = 600,
  byScope = false,
  introspects = true,
  redisUrl = undefined as string | undefined,
} = {}): Promise<TestConsole> {
  const servers: Server[] = [];
  const releases: (() => unknown)[] = [];
  const timers = new Set<() => void>();
  const surface = await listening((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      const { method = '', url = '', headers, rawHeaders } = request;
      const seen = { method, url, headers, rawHeaders, body };
      if (method !== 'HEAD' || url !== '/') test.seen.push(seen);
      test.answer(request, response, seen);
    });
  });
  let handle: (request: IncomingMessage, response: ServerResponse) => void = () => undefined;
  const first = await listening((request, response) => handle(request, response));
  servers.push(surface.server, first.server);
  const clock = testClock(new Date().toISOString());
  const counted: string[] = [];
  const logged: string[] = [];
  const provider = await testProvider({
    publicUrl: first.url,
    audiences: Object.values(AUDIENCES),
    introspects,
    scopes: byScope ? { [SCOPES.api]: AUDIENCES.api, [SCOPES.admin]: AUDIENCES.admin } : {},
    accessTokenSeconds,
  });
  const made = () =>
    composed({
      url: first.url,
      surfaceUrl: surface.url,
      provider,
      clock,
      counted,
      logged,
      releases,
      timers,
      byScope,
      redisUrl,
    });
  const { publicApp, ready } = made();
  handle = publicApp;
  const test: TestConsole = {
    url: first.url,
    provider,
    surface: surface.server,
    counted,
    logged,
    clock,
    seen: [],
    answer: (_request, response, { url }) =>
      response.setHeader('content-type', 'application/json').end(url === '/admin/v1/whoami' ? WHOAMI : '{}'),
    ready: async () => ready(),
    async another() {
      const { server, url } = await listening(made().publicApp);
      servers.push(server);
      return url;
    },
    tick() {
      for (const done of [...timers]) {
        timers.delete(done);
        done();
      }
    },
    async stop() {
      for (const release of releases) await release();
      await provider.stop();
      for (const server of servers) server.close();
      for (const server of servers) server.closeAllConnections();
    },
  };
  return test;
}

interface Parts extends Pick<TestConsole, 'url' | 'provider' | 'clock' | 'counted' | 'logged'> {
  readonly surfaceUrl: string;
  readonly releases: (() => unknown)[];
  readonly timers: Set<() => void>;
  readonly redisUrl: string | undefined;
  readonly byScope: boolean;
}

function composed({ url, surfaceUrl, provider, clock, counted, logged, releases, timers, byScope, redisUrl }: Parts) {
  const startTimer = (done: () => void) => {
    timers.add(done);
    return () => timers.delete(done);
  };
  const ids = testIds();
  const config = readConfig({
    PUBLIC_URL: url,
    OIDC_ISSUER: provider.issuer,
    OIDC_CLIENT_ID: CLIENT.id,
    OIDC_CLIENT_SECRET: CLIENT.secret,
    SERVER_SECRETS: `s1:${'x'.repeat(32)}`,
    BODY_MAX_BYTES: '65536',
    ...(redisUrl === undefined ? {} : { REDIS_URL: redisUrl }),
    OIDC_AUDIENCES: JSON.stringify([
      ...(['api', 'admin'] as const).map((listener) => ({
        surface: 'risk-partner',
        listener,
        ...(byScope ? { scope: SCOPES[listener] } : { resource: AUDIENCES[listener] }),
      })),
      ...(byScope ? [] : [{ surface: 'ledger-peer', listener: 'api', resource: AUDIENCES.api }]),
    ]),
    CONSOLE_SURFACES: JSON.stringify([
      {
        id: 'risk-partner',
        apiUrl: surfaceUrl,
        publicUrl: 'https://risks.example.com',
        adminUrl: surfaceUrl,
        opsUrl: surfaceUrl,
      },
      { id: 'case-gate', apiUrl: `${surfaceUrl}/below` },
      {
        id: 'ledger-peer',
        apiUrl: `${surfaceUrl}/peer`,
        publicUrl: 'http://127.0.0.1:1',
        adminUrl: 'http://127.0.0.1:1',
      },
    ]),
  });
  const counters: ConsoleMetrics = {
    passed: (surface, outcome) => counted.push(`${surface} ${outcome}`),
    signedIn: (outcome) => counted.push(`sign-in ${outcome}`),
    providerFailed: (call) => counted.push(`provider ${call}`),
  };
  const write = (event: string, fields?: object) => logged.push(`${event} ${JSON.stringify(fields)}`);
  const requests = { write: (record: object) => logged.push(JSON.stringify(record)) };
  const log = { error: write, warn: write, info: write, debug: write, requests } as never;
  const metrics = { route: () => ({ observe: () => undefined }) };
  const appBase = {
    log,
    metrics,
    now: clock.now,
    newId: ids,
    trustProxy: false as const,
    tlsTerminatedUpstream: false,
    compileSchemas: 'at-start' as const,
  };
  const basics = { config, now: clock.now, newId: ids, log, counters, appBase, startTimer };
  return compose({ ...basics, webFiles: { index: INDEX, files: FILES } }, (_name, release) => releases.push(release));
}
