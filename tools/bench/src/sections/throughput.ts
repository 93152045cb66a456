import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { BenchContext } from '../bench-context.ts';
import { countRecords } from '../gateway/gateway-admin.ts';
import type { LoadResult } from '../load/load-plan.ts';
import { warmUp } from '../load/warm-up.ts';
import { peakRssBytesOf } from '../proc-usage.ts';
import { releaseStack } from '../release-stack.ts';
import type { SectionReport } from '../report.ts';
import { summarise, type RowSummary } from './summarise-row.ts';
import { startRows, type Row } from './throughput-rows.ts';
import { throughputReport } from './throughput-report.ts';
import { whyWithheld, type Ledgered } from './why-withheld.ts';

/** The gateway goes on integrating what a round wrote: the next row must not pay for it. */
const settleMs = 500;
const mebibyte = 1024 * 1024;

/** Every server of the table, round by round in turn, so that what the machine does besides meets all of them. */
export async function throughput(context: BenchContext): Promise<SectionReport> {
  const stack = releaseStack();
  context.stack.own('the servers of the table', async () => void (await stack.releaseAll()));
  const { options, tell } = context;
  tell('Starting the servers of the table');
  const rows = await startRows(context, stack);
  for (const row of rows) {
    tell(`Warming up: ${row.name}`);
    const run = (): Promise<LoadResult> => runRow(context, row, options.warmUpMs);
    row.warmUps.push(...(await warmUp(run, { requests: row.warmUpRequests, signal: context.signal })));
    await delay(settleMs);
  }
  for (let round = 1; round <= options.rounds; round += 1) {
    tell(`Round ${round} of ${options.rounds}`);
    for (const row of rows) {
      context.signal.throwIfAborted();
      row.rounds.push(await runRow(context, row, options.roundMs));
      await delay(settleMs);
    }
  }
  tell('Counting what the ledgers hold');
  const summaries: RowSummary[] = [];
  const ledgered: Ledgered[] = [];
  for (const row of rows) {
    const summary = summarise(row, peakMebibytes(row));
    summaries.push(summary);
    if (row.kept === undefined) continue;
    const { site, channel } = row.kept;
    ledgered.push({ ...summary, inLedger: await countRecords(site, channel), settings: site.settings });
  }
  await stack.releaseAll();
  const withheld = whyWithheld({ rows: summaries, ledgered, machine: context.machine });
  return throughputReport({ context, summaries, withheld, rows });
}

function runRow({ generator, options }: BenchContext, row: Row, durationMs: number) {
  const { port, path, headers, body, watch } = row;
  return generator.run({
    ...{ port, path, headers, body, watch },
    keyPrefix: `bench-${randomBytes(6).toString('hex')}`,
    connections: options.connections,
    until: { durationMs },
  });
}

function peakMebibytes({ watch }: Row): number | undefined {
  const peak = peakRssBytesOf(watch[0]?.pid ?? 0);
  return peak === undefined ? undefined : peak / mebibyte;
}
