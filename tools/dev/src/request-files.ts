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
    readonly keys: Readonly<Record<string, string>>;
  };
}

/** A GET if there is no body. */
interface CountedRequest {
  readonly surface: string;
  readonly path: string;
  readonly key: string | undefined;
  readonly body?: object;
}

const record = (): object => ({ type: 'demo.greeting', id: randomUUID(), data: { text: 'Hello' } });

const REQUESTS: Readonly<Record<string, (started: Started) => CountedRequest>> = {
  'a write of the ingest gateway': ({ demo: { networkId, keys } }) => ({
    surface: 'ingest-gateway',
    path: `/${networkId}`,
    key: keys['ingest'],
    body: record(),
  }),
  'a batch of the ingest gateway': ({ demo: { networkId, keys } }) => ({
    surface: 'ingest-gateway',
    path: `/${networkId}`,
    key: keys['ingest'],
    body: { assets: Array.from({ length: 10 }, record) },
  }),
  'a check of the gate': ({ demo: { venueId, keys } }) => ({
    surface: 'case-gate',
    path: '/v1/gate/check',
    key: keys['gate'],
    body: { subject_ref: 'subj_nobody', venue_id: venueId },
  }),
  'a page of the partner API': ({ demo: { keys } }) => ({
    surface: 'risk-partner',
    path: '/api/v1/risks?limit=50',
    key: keys['partner_read'],
  }),
  'a write of the ledger peer': ({ demo: { keys } }) => ({
    surface: 'ledger-peer',
    path: '/api/assets',
    key: keys['peer'],
    body: { assets: [{ id: randomUUID(), type: 'asset', data: { colour: 'blue' } }] },
  }),
};

/** Injected into the surface: at each message, reports the functions that ran since the previous one. */
const COUNTER = `
import { Session } from 'node:inspector/promises';
const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
process.on('message', async () => {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const ran = ({ ranges: [{ count }] }) => count > 0;
  process.send(
    result
      .filter(({ url }) => url.startsWith('file:'))
      .flatMap(({ url, functions }) => functions.filter(ran).map(({ functionName, ranges }) => ({ url, functionName, ranges }))),
  );
});
process.channel.unref();
`;

interface RanFunction {
  readonly url: string;
  readonly functionName: string;
  /** Blocks of the source, outer before inner. The first one is the whole function. */
  readonly ranges: readonly { readonly startOffset: number; readonly endOffset: number; readonly count: number }[];
}

const WARM_UP = 20;
const COUNTED = 10;
/** Time for work that continues after a response. */
const AFTER_ANSWER_MS = 30;

/**
 * `request-files [--data DIR] [--functions]`: counts our source files, functions and lines that run for one request of
 * each running surface, by V8's block coverage. Starts a second instance of the surface, from source and with the same
 * settings, and sends requests; a function counts if it ran for each request, which excludes timers, and a line if a
 * block of such a function that starts, ends or continues on it ran in the last one.
 */
export async function countRequestFiles(parameters: readonly string[]): Promise<number> {
  const options = { data: { type: 'string', default: '.sealgate' }, functions: { type: 'boolean' } } as const;
  const { values } = parseArgs({ args: [...parameters], options });
  const started = JSON.parse(readFileSync(join(values.data, 'dev.json'), 'utf8')) as Started;
  for (const [title, request] of Object.entries(REQUESTS)) {
    const { surface } = request(started);
    const pid = started.surfaces[surface]?.pid;
    if (pid === undefined) continue;
    const ran = await functionsOf(surface, environmentOf(pid), () => request(started));
    const byFile = [...Map.groupBy(ran, ({ url }) => relative(workspaceRoot, fileURLToPath(url)))].sort();
    const lines = byFile.reduce((sum, [file, functions]) => sum + linesOf(file, functions), 0);
    process.stdout.write(`${title}: ${byFile.length} files, ${ran.length} functions, ${lines} lines\n`);
    for (const [file, functions] of byFile) {
      const names = functions.map(({ functionName }) => functionName || '(anonymous)').join(', ');
      process.stdout.write(`  ${file}${values.functions === true ? `: ${names}` : ''}\n`);
    }
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

/** The functions in apps and libs that ran for each of the counted requests, with their blocks in the last one. */
async function functionsOf(
  surface: string,
  environment: Readonly<Record<string, string>>,
  request: () => CountedRequest,
): Promise<RanFunction[]> {
  // Other ports than the running instance; TLS and admin listeners are not needed here.
  const port = String(Number(environment['PORT']) + 500);
  const env = { ...environment, PORT: port, OPS_PORT: String(Number(port) + 50), ADMIN_PORT: '' };
  const program = join(workspaceRoot, 'apps', surface, 'src/main.ts');
  const counter = `data:text/javascript,${encodeURIComponent(COUNTER)}`;
  const child = spawn(process.execPath, ['--import', counter, program], {
    env: { ...env, LEDGER_INTEGRATOR: 'false' },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  try {
    await isUp(child, `http://127.0.0.1:${env.OPS_PORT}/health/ready`);
    for (let count = 0; count < WARM_UP; count += 1) await send(port, request());
    let ran: RanFunction[] | undefined;
    for (let count = 0; count < COUNTED; count += 1) {
      await delay(AFTER_ANSWER_MS);
      await ranSince(child);
      await send(port, request());
      await delay(AFTER_ANSWER_MS);
      const earlier = ran === undefined ? undefined : new Set(ran.map(identityOf));
      ran = (await ranSince(child)).filter((one) => earlier?.has(identityOf(one)) ?? isOurs(one));
    }
    return ran ?? [];
  } finally {
    child.kill();
    await once(child, 'exit');
  }
}

const isOurs = ({ url }: RanFunction): boolean => /^(apps|libs)\//.test(relative(workspaceRoot, fileURLToPath(url)));

const identityOf = ({ url, ranges: [whole] }: RanFunction): string => `${url}:${whole?.startOffset}`;

/** The surfaces whose keys are bearer tokens; the others take X-Api-Key. */
const BEARER = ['case-gate', 'risk-partner'];

async function send(port: string, { surface, path, key, body }: CountedRequest): Promise<void> {
  const headers = BEARER.includes(surface) ? { Authorization: `Bearer ${key}` } : { 'X-Api-Key': key ?? '' };
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    ...(body === undefined
      ? { headers }
      : {
          method: 'POST',
          headers: { ...headers, 'Content-Type': 'application/json', 'Idempotency-Key': randomUUID() },
          body: JSON.stringify(body),
        }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${surface} answered ${response.status}: ${text}`);
}

/** The lines of the file that ran: inner functions and blocks decide over the ones around them. */
function linesOf(file: string, functions: readonly RanFunction[]): number {
  const source = readFileSync(join(workspaceRoot, file), 'utf8');
  const ran = new Uint8Array(source.length);
  const outerFirst = functions.toSorted((one, other) => startOf(one) - startOf(other));
  for (const { startOffset, endOffset, count } of outerFirst.flatMap(({ ranges }) => ranges)) {
    ran.fill(count > 0 ? 1 : 0, startOffset, endOffset);
  }
  let offset = 0;
  return source.split('\n').filter((line) => {
    const start = offset;
    offset += line.length + 1;
    return line.trim() !== '' && ran.subarray(start, start + line.length).includes(1);
  }).length;
}

const startOf = ({ ranges: [whole] }: RanFunction): number => whole?.startOffset ?? 0;

async function ranSince(child: ChildProcess): Promise<RanFunction[]> {
  const answer = once(child, 'message') as Promise<[RanFunction[]]>;
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
