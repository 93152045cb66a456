import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { workspaceRoot } from './workspace.ts';

/** The part of dev.json that is used here. */
interface Started {
  readonly surfaces: Readonly<Record<string, { readonly url: string; readonly pid: number } | undefined>>;
  readonly demo: {
    readonly networkId: string;
    readonly venueId: string;
    readonly keys: { readonly ingest: string; readonly gate: string };
  };
}

const REQUESTS = {
  'ingest-gateway': ({ demo: { networkId, keys } }: Started) => ({
    path: `/${networkId}`,
    headers: { 'X-Api-Key': keys.ingest, 'Idempotency-Key': randomUUID() },
    body: { type: 'demo.greeting', data: { text: 'Hello' } },
  }),
  'case-gate': ({ demo: { venueId, keys } }: Started) => ({
    path: '/v1/gate/check',
    headers: { Authorization: `Bearer ${keys.gate}` },
    body: { subject_ref: 'subj_nobody', venue_id: venueId },
  }),
};

/** Injected into the surface: at each message, reports which scripts ran a function since the previous one. */
const COUNTER = `
import { Session } from 'node:inspector/promises';
const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
process.on('message', async () => {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const ran = result.filter(({ functions }) => functions.some(({ ranges }) => ranges[0].count > 0));
  process.send(ran.map(({ url }) => url).filter((url) => url.startsWith('file:')));
});
process.channel.unref();
`;

const WARM_UP = 20;
const COUNTED = 10;
/** Time for work that continues after a response. */
const AFTER_ANSWER_MS = 30;

/**
 * `request-files [--data DIR]`: counts our source files that run for one write through the gateway and one check of the
 * gate. Starts a second instance of each running surface, from source and with the same settings, and sends requests; a
 * file counts if it ran for each request, which excludes timers.
 */
export async function countRequestFiles(parameters: readonly string[]): Promise<number> {
  const { values } = parseArgs({ args: [...parameters], options: { data: { type: 'string' } } });
  const started = JSON.parse(readFileSync(join(values.data ?? '.sealgate', 'dev.json'), 'utf8')) as Started;
  for (const [name, request] of Object.entries(REQUESTS)) {
    const pid = started.surfaces[name]?.pid;
    if (pid === undefined) continue;
    const files = await filesOf(name, environmentOf(pid), () => request(started));
    process.stdout.write(`${name}: ${files.length} files\n${files.map((file) => `  ${file}\n`).join('')}`);
  }
  return 0;
}

/** The environment of a running process, from /proc. */
const environmentOf = (pid: number): Record<string, string> =>
  Object.fromEntries(
    readFileSync(`/proc/${pid}/environ`, 'utf8')
      .split('\0')
      .filter((line) => line.includes('='))
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );

async function filesOf(
  name: string,
  environment: Readonly<Record<string, string>>,
  request: () => { path: string; headers: Record<string, string>; body: object },
): Promise<string[]> {
  // Other ports than the running instance; TLS and admin listeners are not needed here.
  const port = String(Number(environment['PORT']) + 500);
  const env = { ...environment, PORT: port, OPS_PORT: String(Number(port) + 50), ADMIN_PORT: '' };
  const program = join(workspaceRoot, 'apps', name, 'src/main.ts');
  const counter = `data:text/javascript,${encodeURIComponent(COUNTER)}`;
  const child = spawn(process.execPath, ['--import', counter, program], {
    env: { ...env, LEDGER_INTEGRATOR: 'false' },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const send = async (): Promise<void> => {
    const { path, headers, body } = request();
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${name} answered ${response.status}: ${text}`);
  };
  try {
    await isUp(child, `http://127.0.0.1:${env.OPS_PORT}/health/ready`);
    for (let count = 0; count < WARM_UP; count += 1) await send();
    let met: string[] | undefined;
    for (let count = 0; count < COUNTED; count += 1) {
      await delay(AFTER_ANSWER_MS);
      await ranSince(child);
      await send();
      await delay(AFTER_ANSWER_MS);
      const ran = await ranSince(child);
      met = met === undefined ? ran : met.filter((url) => ran.includes(url));
    }
    return (met ?? [])
      .map((url) => relative(workspaceRoot, fileURLToPath(url)))
      .filter((file) => /^(apps|libs)\//.test(file))
      .sort();
  } finally {
    child.kill();
    await once(child, 'exit');
  }
}

async function ranSince(child: ChildProcess): Promise<string[]> {
  const answer = once(child, 'message') as Promise<[string[]]>;
  child.send('take');
  return (await answer)[0];
}

const UP_WITHIN_MS = 60_000;

async function isUp(child: ChildProcess, url: string): Promise<void> {
  const endMs = Date.now() + UP_WITHIN_MS;
  for (;;) {
    const answer = await fetch(url).catch(() => undefined);
    if (answer?.ok === true) return;
    if (Date.now() > endMs || child.exitCode !== null) throw new Error(`${url} does not answer.`);
    await delay(100);
  }
}
