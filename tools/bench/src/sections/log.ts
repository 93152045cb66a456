import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { generateNoteKey, parseCheckpoint, TILE_WIDTH, tilePath } from '@sealgate/merkle';
import { releaseStack, type BenchContext, type ReleaseStack } from '../bench-context.ts';
import { assetsBody, batchRecords } from '../bodies.ts';
import type { Gateway } from '../gateway/gateway-process.ts';
import { preparePeerSite } from '../gateway/peer-site.ts';
import type { LoadResult } from '../load/load-plan.ts';
import { median } from '../median.ts';
import { watchUsage, type WatchedProcess } from '../proc-usage.ts';
import type { SectionReport } from '../report.ts';
import type { Finding } from '../targets.ts';
import { decimals, wholeNumber } from '../text-table.ts';
import { workspaceRoot } from '../workspace-root.ts';
import { measureAppends, type Appends } from './log-appends.ts';
import type { RowSummary } from './summarise-row.ts';
import { quietness } from './throughput-report.ts';

const channel = 'bench.log';
const origin = 'localhost/bench';
/** A little above the promise; what a bucket of 1,000 lacks comes from its burst. */
const tilesPerSecond = 1_050;
/** Time for signatures, and for the readers' bucket to refill. */
const settleMs = 3_000;
const signedWithinMs = 120_000;
const monitorWithinMs = 600_000;

interface Reading {
  readonly leaves: number;
  /** Time of the whole command, from the start of its process to its end. */
  readonly monitorMs: readonly number[];
  /** CPU time of the peer and PostgreSQL, per entry. */
  readonly servedUs: readonly number[];
  readonly tiles: LoadResult;
}

/** The cost of outside readers of a log, and the cost of witnesses for writers. */
export async function logSection(context: BenchContext): Promise<SectionReport> {
  const stack = releaseStack();
  context.stack.own('the servers of the log', async () => void (await stack.releaseAll()));
  const reading = await measureReading(context, stack);
  await stack.releaseAll();
  const appends = await measureAppends(context, stack);
  await stack.releaseAll();
  return reportOf(context, reading, appends);
}

/** A public log behind the readers' default rate limit. */
async function measureReading(context: BenchContext, stack: ReleaseStack): Promise<Reading> {
  const { options, tell } = context;
  const key = generateNoteKey(origin);
  const env = { PUBLIC_LOG: channel, LEDGER_SIGNING_KEY: key.privateKey };
  const site = await preparePeerSite(context, { name: 'log', channel, stack, env });
  const peer = await site.start();
  const url = `http://127.0.0.1:${peer.port}/ledger/${channel}`;
  tell(`Filling a log with ${wholeNumber(options.ledgerRecords)} entries`);
  await context.generator.run({
    ...{ port: peer.port, path: '/api/assets', body: assetsBody(batchRecords, 'bench'), sendsKey: false },
    headers: { 'Content-Type': 'application/json', 'X-Api-Key': site.key },
    ...{ keyPrefix: randomBytes(6).toString('hex'), connections: 16, watch: [] },
    until: { requests: options.ledgerRecords / batchRecords },
  });
  await signedFor(url, options.ledgerRecords);
  await delay(settleMs);
  const monitorMs: number[] = [];
  const servedUs: number[] = [];
  const watch: WatchedProcess[] = [
    { name: 'server', pid: peer.pid },
    { name: 'postgres', pid: context.postgres.pid, family: true },
  ];
  for (let round = 1; round <= options.rounds; round += 1) {
    tell(`Monitor: round ${round} of ${options.rounds}`);
    context.signal.throwIfAborted();
    const usage = watchUsage(watch);
    monitorMs.push(await monitor({ url, vkey: key.verifierKey, state: join(context.folder, `seen-${round}.json`) }));
    const served = Object.values(usage.end().usage).reduce((sum, { cpuMs }) => sum + (cpuMs ?? Number.NaN), 0);
    servedUs.push((served * 1_000) / options.ledgerRecords);
    await delay(settleMs);
  }
  tell('Reading tiles');
  return { leaves: options.ledgerRecords, monitorMs, servedUs, tiles: await readTiles(context, peer) };
}

async function signedFor(url: string, size: number): Promise<void> {
  const end = performance.now() + signedWithinMs;
  for (let seen = 0; seen < size;) {
    if (performance.now() > end) throw new Error(`${seen} of ${size} entries are covered by a checkpoint.`);
    await delay(100);
    const response = await fetch(`${url}/checkpoint`);
    if (response.status === 200) seen = parseCheckpoint(await response.text()).size;
  }
}

/** Runs the command as an outsider does, without state. Throws Error where it finds any fault. */
function monitor({ url, vkey, state }: { url: string; vkey: string; state: string }): Promise<number> {
  const program = join(workspaceRoot, 'tools/verify/bin/sealgate-verify.mjs');
  const startedAt = performance.now();
  const child = spawn(process.execPath, [program, 'monitor', url, '--key', vkey, '--state', state], {
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: monitorWithinMs,
  });
  let said = '';
  const keep = (chunk: Buffer): void => void (said = (said + chunk.toString('utf8')).slice(-2_000));
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  return new Promise((done, fail) => {
    child.on('error', fail);
    child.on('close', (code) => {
      if (code === 0) done(performance.now() - startedAt);
      else fail(new Error(`The monitor ended with ${code}: ${said}`));
    });
  });
}

/** Full tiles and bundles in random order, as fast as the rate limit of one reader allows. */
function readTiles({ generator, options }: BenchContext, peer: Gateway): Promise<LoadResult> {
  const full = Math.floor(options.ledgerRecords / TILE_WIDTH);
  const paths = Array.from({ length: full }, (_, index) => tilePath({ level: 0, index, width: TILE_WIDTH }));
  return generator.run({
    ...{ port: peer.port, path: '', headers: {}, body: '', keyPrefix: '', connections: options.connections },
    requests: paths.map((path) => ({ method: 'GET', path: `/ledger/${channel}/${path}` })),
    ...{ perSecond: tilesPerSecond, until: { requests: (tilesPerSecond * options.roundMs * options.rounds) / 1_000 } },
    watch: [{ name: 'server', pid: peer.pid }],
  });
}

function reportOf(
  context: BenchContext,
  { leaves, monitorMs, servedUs, tiles }: Reading,
  appends: Appends,
): SectionReport {
  const { rounds, roundMs, connections } = context.options;
  const { summaries } = appends;
  const refused = Object.values(tiles.refused).reduce((sum, count) => sum + count, tiles.unanswered);
  const withheld = [
    ...appends.withheld,
    ...(refused === 0 ? [] : [`Tiles: ${refused} requests were not answered by 200.`]),
  ];
  const leavesPerSecond = (leaves * 1_000) / median(monitorMs);
  const served = (tiles.measured * 1_000) / tiles.measuredMs;
  const [without, ...witnessed] = summaries;
  const told = (value: number): number | undefined => (appends.withheld.length === 0 ? value : undefined);
  const findings: Finding[] = [
    { target: 'monitorLeaves', value: leavesPerSecond, of: `${wholeNumber(leaves)} entries` },
    { target: 'tilesServed', value: refused === 0 ? served : 0 },
    ...witnessed.flatMap((one): Finding[] => [
      { target: 'witnessedAppends', value: told(one.requestsPerSecond / without!.requestsPerSecond), of: one.name },
      { target: 'witnessedCpu', value: told(cpuOf(one) / cpuOf(without!)), of: one.name },
    ]),
  ];
  const right = (name: string) => ({ name, right: true });
  const tileCpuUs = ((tiles.usage['server']?.cpuMs ?? Number.NaN) * 1_000) / tiles.measured;
  return {
    title: 'The public log',
    tables: [
      {
        columns: [{ name: 'reading' }, right('each second'), right('p50 ms'), right('p99 ms'), right('CPU us')],
        rows: [
          [
            'entries read and checked by `sealgate-verify monitor`',
            ...[wholeNumber(leavesPerSecond), '-', '-', decimals(median(servedUs), 1)],
          ],
          [
            `tiles, asked for ${wholeNumber(tilesPerSecond)} times a second`,
            ...[wholeNumber(served), decimals(tiles.p50Ms, 2), decimals(tiles.p99Ms, 2), decimals(tileCpuUs, 0)],
          ],
        ],
      },
      {
        columns: [{ name: 'single records with' }, ...['appends/s', 'p99 ms', 'CPU us of all servers'].map(right)],
        rows: summaries.map((one) => [
          one.name,
          ...[wholeNumber(one.requestsPerSecond), decimals(one.p99Ms, 2), decimals(cpuOf(one), 1)],
        ]),
      },
    ],
    notes: [
      `The monitor starts without state each time; its time is that of the whole command, the median of ${rounds}. CPU us is that of the peer and, for entries, of PostgreSQL. Readers have the default LOG_RATE_PER_SECOND and LOG_RATE_BURST, and no key.`,
      `Appends: medians of ${rounds} rounds of ${roundMs / 1_000} s each in turn, ${connections} connections, each gateway on a database of its own. Every acknowledged record was counted in its ledger.`,
      quietness(summaries),
    ],
    findings,
    withheld,
    measured: { leaves, monitorMs, servedUs, tiles, summaries },
  };
}

/** CPU time of every process for one append; unreported values count as zero. */
const cpuOf = ({ serverUs, postgresUs, redisUs }: RowSummary): number =>
  [serverUs, postgresUs, redisUs].reduce((sum, us) => sum + (Number.isNaN(us) ? 0 : us), 0);
