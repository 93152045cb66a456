import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mintKey } from '@sealgate/auth';
import { createApp, type App } from '@sealgate/http';
import { addressLimiter, memoryLimits } from '@sealgate/rate-limits';
import type { RiskCaller } from './domain/caller.ts';
import { riskGuard } from './risk-guard.ts';
import { mcpRoutes } from './routes/mcp.ts';
import { conformanceServer } from './testing/conformance-server.ts';

/** The command of the suite, as `npx` runs it. */
const SUITE = join(import.meta.dirname, '../../../node_modules/@modelcontextprotocol/conformance/dist/index.js');

interface Check {
  readonly scenario: string;
  readonly id: string;
  readonly status: string;
  readonly errorMessage?: string;
}

let server: Server;
let folder: string;
let app: App;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sealgate-conformance-'));
  const { rawKey, keyHash } = mintKey('svc_');
  server = createServer((request, response) => {
    // The suite cannot send a key.
    request.rawHeaders.push('Authorization', `Bearer ${rawKey}`);
    app(request, response);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  app = conformingApp(port, keyHash);
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

const CALLER: RiskCaller = {
  credential: { kind: 'key', id: 'key_1' },
  orgId: 'org_1',
  personId: 'per_1',
  roles: ['viewer'],
  scope: { unrestricted: false, departments: [], canReadSensitive: false },
};

/** Our route and guard, with the tools of the suite. */
function conformingApp(port: number, keyHash: Buffer): App {
  const now = () => Date.now();
  const limits = memoryLimits({ now });
  const guard = riskGuard({
    recentCaller: () => undefined,
    findCaller: async (hash) => (hash.equals(keyHash) ? CALLER : undefined),
    touchKey: () => undefined,
    touchPerson: () => undefined,
    limits,
    addresses: addressLimiter({ limits, listener: 'risk', now }),
    keyLimits: { ratePerSecond: 1_000_000, burst: 1_000_000 },
  });
  const nothing = () => undefined;
  const log = { error: nothing, warn: nothing, info: nothing, debug: nothing, requests: { write: nothing } };
  return createApp({
    guard,
    routes: mcpRoutes({
      serverFor: () => (era) => conformanceServer(era),
      allowedHosts: ['localhost', '127.0.0.1'],
      allowedOrigins: [`http://localhost:${port}`, `http://127.0.0.1:${port}`],
    }),
    log: { ...log, child: () => ({ ...log, child: () => log as never }) },
    metrics: { route: () => ({ observe: nothing }) },
    now,
    newId: () => 'req_1',
    trustProxy: false,
    tlsTerminatedUpstream: false,
    head: true,
  });
}

/** Runs the required and the other scenarios of a revision. */
async function checksOf(revision: string): Promise<Check[]> {
  const results = join(folder, revision);
  const { port } = server.address() as AddressInfo;
  const asked = [
    'server',
    '--url',
    `http://localhost:${port}/mcp`,
    '--requirements',
    revision,
    '--output-dir',
    results,
  ];
  const { NODE_OPTIONS: _ofJest, ...env } = process.env;
  // Its exit code counts failures, expected or not.
  await new Promise((done) => spawn(process.execPath, [SUITE, ...asked], { stdio: 'ignore', env }).once('close', done));
  return readdirSync(results).flatMap((name) => {
    const [, scenario = name] = /^server-(.+)-\d{4}-\d{2}-\d{2}T[\d-]+Z$/.exec(name) ?? [];
    const file = join(results, name, 'checks.json');
    if (!existsSync(file)) return [];
    const checks = JSON.parse(readFileSync(file, 'utf8')) as Omit<Check, 'scenario'>[];
    return checks.map((check) => ({ ...check, scenario }));
  });
}

/** Scenarios that cannot pass without sessions and with one body per POST, each with the reason. */
const ASKS = 'a request of the server to the client before the answer';
const TELLS = 'a notification before the answer';
const SESSIONS = 'a session that a second request could be of';
const TASKS = 'an extension (tasks) that is not offered';
const EXEMPT: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '2025-11-25': {
    'elicitation-sep1034-defaults': ASKS,
    'elicitation-sep1330-enums': ASKS,
    'server-sse-multiple-streams': SESSIONS,
    'server-sse-polling': SESSIONS,
    'tools-call-elicitation': ASKS,
    'tools-call-sampling': ASKS,
    'tools-call-with-logging': TELLS,
    'tools-call-with-progress': TELLS,
  },
  '2026-07-28': {
    'http-custom-header-server-validation': 'a tool whose arguments are repeated in headers',
    'tasks-capability-negotiation': TASKS,
    'tasks-dispatch-and-envelope': TASKS,
    'tasks-lifecycle': TASKS,
    'tasks-mrtr-composition': TASKS,
    'tasks-mrtr-input': TASKS,
    'tasks-request-headers': TASKS,
    'tasks-request-state-removal': TASKS,
    'tasks-required-task-error': TASKS,
    'tasks-wire-fields': TASKS,
  },
};
/** Minimum number of passing checks; fewer means that the suite, or the setup, is broken. */
const PASSES: Readonly<Record<string, number>> = { '2025-11-25': 61, '2026-07-28': 150 };

describe("the MCP project's conformance suite, with its own tools on our transport", () => {
  it.each(Object.entries(EXEMPT))(
    'passes for %s, except for scenarios that need unsupported features',
    async (revision, exempt) => {
      const checks = await checksOf(revision);
      const failed = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING');
      const unexpected = failed.filter(({ scenario }) => !Object.hasOwn(exempt, scenario));
      expect(unexpected).toEqual([]);
      expect([...new Set(failed.map(({ scenario }) => scenario))].sort()).toEqual(Object.keys(exempt));
      const passed = checks.filter(({ status }) => status === 'SUCCESS').length;
      expect(passed).toBeGreaterThanOrEqual(PASSES[revision]!);
    },
    120_000,
  );
});
