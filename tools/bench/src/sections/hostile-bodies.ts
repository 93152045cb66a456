import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { BenchContext } from '../bench-context.ts';
import { recordBody } from '../bodies.ts';
import { median } from '../median.ts';
import type { SectionReport } from '../report.ts';
import { makeSender, type Sender } from '../surfaces/admin.ts';
import { prepareSite } from '../surfaces/site.ts';
import type { Surface } from '../surfaces/surface-process.ts';
import { decimals, right, wholeNumber } from '../text-table.ts';
import { hostileBodies, openersName, type HostileBody } from './hostile-body-list.ts';
import { withStack } from './table-section.ts';

interface BodyResult {
  readonly name: string;
  readonly bytes: number;
  readonly status: string;
  readonly answeredMs: readonly number[];
  readonly stallMs: readonly number[];
}

/** Below the 50 refusals per second of a key at which refusals themselves are refused. */
const pauseMs = 60;

/** Sends one hostile body after another to an otherwise idle gateway, while a probe inside watches its event loop. */
export function hostileBodiesSection(context: BenchContext): Promise<SectionReport> {
  return withStack(context, async (stack) => {
    const site = await prepareSite(context, { name: 'bodies', stack });
    const gateway = await site.start();
    const sender = await makeSender(gateway, 'bodies');
    context.tell('Sending hostile bodies');
    const plain: HostileBody = { name: 'a record of 255 bytes, for comparison', bytes: Buffer.from(recordBody()) };
    for (let warmUp = 0; warmUp < 200; warmUp += 1) await send(sender, plain);
    const results = [await measure({ context, gateway, sender }, plain)];
    for (const { name, make } of hostileBodies) {
      context.signal.throwIfAborted();
      results.push(await measure({ context, gateway, sender }, { name, ...make() }));
    }
    return reportOf(results);
  });
}

interface Target {
  readonly context: BenchContext;
  readonly gateway: Surface;
  readonly sender: Sender;
}

async function measure({ context, gateway, sender }: Target, body: HostileBody): Promise<BodyResult> {
  const answeredMs: number[] = [];
  const stallMs: number[] = [];
  const statuses = new Set<string>();
  for (let repeat = 0; repeat < context.options.repeats; repeat += 1) {
    await delay(pauseMs);
    let startedAt = 0;
    const stall = await gateway.longestStallMs(async () => {
      startedAt = performance.now();
      statuses.add(await send(sender, body));
      answeredMs.push(performance.now() - startedAt);
      await delay(20); // Work that it defers to later turns counts as well.
    });
    stallMs.push(stall);
  }
  return { name: body.name, bytes: body.bytes.length, status: [...statuses].join(', '), answeredMs, stallMs };
}

const agent = new Agent({ keepAlive: true });
const answerWithinMs = 60_000;

/** The status, and the problem code where there is one. */
function send(sender: Sender, { bytes, encoding }: HostileBody): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = {
      ...sender.headers,
      'Content-Length': bytes.length,
      ...(encoding === undefined ? {} : { 'Content-Encoding': encoding }),
    };
    const options = { host: '127.0.0.1', port: sender.port, path: sender.path, method: 'POST', headers, agent };
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

function reportOf(results: readonly BodyResult[]): SectionReport {
  const rows = results.map(({ name, bytes, status, answeredMs, stallMs }) => [
    ...[name, wholeNumber(bytes), status],
    ...[answeredMs, stallMs].flatMap((ms) => [median(ms), Math.max(...ms)].map((value) => decimals(value, 1))),
  ]);
  const openers = results.find(({ name }) => name === openersName);
  const worst = results.toSorted((a, b) => Math.max(...b.stallMs) - Math.max(...a.stallMs))[0];
  return {
    title: 'Hostile bodies',
    tables: [
      {
        columns: [
          ...[{ name: 'body' }, right('bytes'), { name: 'answer' }],
          ...['answered ms', 'worst ms', 'stall ms', 'worst stall ms'].map(right),
        ],
        rows,
      },
    ],
    notes: [
      "Answered is from the first byte sent to the last byte of the answer. The stall is the longest time between two turns of the gateway's event loop while it processed that body; the first row shows the share of this machine.",
    ],
    findings: [
      { target: 'openers', value: Math.max(...(openers?.answeredMs ?? [Number.NaN])), of: 'worst' },
      { target: 'stall', value: Math.max(...(worst?.stallMs ?? [Number.NaN])), of: worst?.name ?? '' },
    ],
    withheld: [],
    measured: results,
  };
}
