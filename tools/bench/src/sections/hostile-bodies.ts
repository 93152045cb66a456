import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { releaseStack, type BenchContext } from '../bench-context.ts';
import { recordBody } from '../bodies.ts';
import { makeSender, type Sender } from '../gateway/gateway-admin.ts';
import type { Gateway } from '../gateway/gateway-process.ts';
import { prepareSite } from '../gateway/gateway-site.ts';
import { median } from '../median.ts';
import type { SectionReport } from '../report.ts';
import { decimals, wholeNumber, type Column } from '../text-table.ts';
import { hostileBodies, openersName, type HostileBody } from './hostile-body-list.ts';

interface BodyResult {
  readonly name: string;
  readonly bytes: number;
  readonly status: string;
  readonly answeredMs: readonly number[];
  readonly stallMs: readonly number[];
  readonly times: readonly ThreadTimes[];
}

/** Below the 50 refusals per second of a key at which refusals themselves are refused. */
const pauseMs = 60;

/** Sends one hostile body after another to an otherwise idle gateway, while a probe inside watches its event loop. */
export async function hostileBodiesSection(context: BenchContext): Promise<SectionReport> {
  const stack = releaseStack();
  context.stack.own('the gateway for hostile bodies', async () => void (await stack.releaseAll()));
  const site = await prepareSite(context, { name: 'bodies', redisUrl: context.redis?.url, stack });
  const gateway = await site.start();
  const sender = await makeSender({ site, gateway }, 'bodies');
  context.tell('Sending hostile bodies');
  const plain: HostileBody = { name: 'a record of 255 bytes, for comparison', bytes: Buffer.from(recordBody()) };
  for (let warmUp = 0; warmUp < 200; warmUp += 1) await send(gateway, sender, plain);
  const results = [await measure({ context, gateway, sender }, plain)];
  for (const { name, make } of hostileBodies) {
    context.signal.throwIfAborted();
    results.push(await measure({ context, gateway, sender }, { name, ...make() }));
  }
  await stack.releaseAll();
  return reportOf(results);
}

interface Target {
  readonly context: BenchContext;
  readonly gateway: Gateway;
  readonly sender: Sender;
}

async function measure({ context, gateway, sender }: Target, body: HostileBody): Promise<BodyResult> {
  const answeredMs: number[] = [];
  const stallMs: number[] = [];
  const times: ThreadTimes[] = [];
  const statuses = new Set<string>();
  for (let repeat = 0; repeat < context.options.repeats; repeat += 1) {
    await delay(pauseMs);
    let startedAt = 0;
    const before = mainThreadTimes(gateway.pid);
    const stall = await gateway.longestStallMs(async () => {
      startedAt = performance.now();
      statuses.add(await send(gateway, sender, body));
      answeredMs.push(performance.now() - startedAt);
      await delay(20); // Work that it defers to later turns counts as well.
    });
    stallMs.push(stall);
    times.push(timesBetween(before, mainThreadTimes(gateway.pid)));
  }
  return { name: body.name, bytes: body.bytes.length, status: [...statuses].join(', '), answeredMs, stallMs, times };
}

const agent = new Agent({ keepAlive: true });
const answerWithinMs = 60_000;

/** The status, and the problem code where there is one. */
function send(gateway: Gateway, sender: Sender, { bytes, encoding }: HostileBody): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = {
      ...sender.headers,
      'Content-Length': bytes.length,
      ...(encoding === undefined ? {} : { 'Content-Encoding': encoding }),
    };
    const options = { host: '127.0.0.1', port: gateway.port, path: sender.path, method: 'POST', headers, agent };
    const asked = request({ ...options, timeout: answerWithinMs }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        const code = response.statusCode === 200 ? undefined : /"code":"([A-Z_]+)"/.exec(text)?.[1];
        resolve(code === undefined ? String(response.statusCode) : `${response.statusCode} ${code}`);
      });
    });
    asked.on('timeout', () => asked.destroy(new Error('A body had no answer in time.')));
    // An answer may come, and the connection be closed, before the whole body is sent.
    asked.on('error', (error: NodeJS.ErrnoException) => (isClosed(error) ? resolve('closed') : reject(error)));
    asked.end(bytes);
  });
}

const isClosed = ({ code }: NodeJS.ErrnoException): boolean => code === 'EPIPE' || code === 'ECONNRESET';

const columns: readonly Column[] = [
  { name: 'body' },
  { name: 'bytes', right: true },
  { name: 'answer' },
  ...['answered ms', 'worst ms', 'stall ms', 'worst stall ms', 'ran ms', 'waited ms'].map((name) => ({
    name,
    right: true,
  })),
];

function waitedAtWorst({ stallMs, times }: Pick<BodyResult, 'stallMs' | 'times'>): number {
  return times[stallMs.indexOf(Math.max(...stallMs))]?.waitedMs ?? Number.NaN;
}

function reportOf(results: readonly BodyResult[]): SectionReport {
  const rows = results.map(({ name, bytes, status, answeredMs, stallMs, times }) => [
    name,
    wholeNumber(bytes),
    status,
    ...[median(answeredMs), Math.max(...answeredMs)].map((value) => decimals(value, 1)),
    ...[median(stallMs), Math.max(...stallMs)].map((value) => decimals(value, 1)),
    ...[Math.max(...times.map(({ ranMs }) => ranMs)), waitedAtWorst({ stallMs, times })].map((value) =>
      Number.isNaN(value) ? '-' : decimals(value, 1),
    ),
  ]);
  const openers = results.find(({ name }) => name === openersName);
  const worst = results.toSorted((a, b) => Math.max(...b.stallMs) - Math.max(...a.stallMs))[0];
  return {
    title: 'Hostile bodies',
    tables: [{ columns, rows }],
    notes: [
      "Answered is from the first byte sent to the last byte of the answer. The stall is the longest time between two turns of the gateway's event loop while it processed that body; the first row shows the share of this machine.",
      'Ran is the maximum CPU time of the main thread for that body, all turns together: on an otherwise idle machine no stall is longer. Waited is how long the main thread was runnable without a core while the worst stall was measured.',
    ],
    findings: [
      { target: 'openers', value: Math.max(...(openers?.answeredMs ?? [Number.NaN])), of: 'worst' },
      { target: 'stall', value: Math.max(...(worst?.stallMs ?? [Number.NaN])), of: worst?.name ?? '' },
    ],
    withheld: [],
    measured: results,
  };
}

/** CPU time of the main thread of a process so far. */
interface ThreadTimes {
  readonly ranMs: number;
  /** Runnable time without a core. */
  readonly waitedMs: number;
}

/** From the scheduler's statistics (Linux, proc(5)); undefined elsewhere. */
export function mainThreadTimes(pid: number): ThreadTimes | undefined {
  try {
    const [ranNs = Number.NaN, waitedNs = Number.NaN] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8')
      .split(' ')
      .map(Number);
    return { ranMs: ranNs / 1e6, waitedMs: waitedNs / 1e6 };
  } catch {
    return undefined;
  }
}

/** The difference between two moments; NaN where it is not known. */
export function timesBetween(before: ThreadTimes | undefined, after: ThreadTimes | undefined): ThreadTimes {
  if (before === undefined || after === undefined) return { ranMs: Number.NaN, waitedMs: Number.NaN };
  return { ranMs: after.ranMs - before.ranMs, waitedMs: after.waitedMs - before.waitedMs };
}
