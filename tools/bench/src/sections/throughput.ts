import { randomBytes } from 'node:crypto';
import { releaseStack, type BenchContext, type ReleaseStack } from '../bench-context.ts';
import { countRecords } from '../gateway/gateway-admin.ts';
import type { LoadResult } from '../load/load-plan.ts';
import type { SectionReport } from '../report.ts';
import { runRounds, warmUpRows, type Pace } from './run-rows.ts';
import { peakMebibytesOf, summarise, whyWithheld, type Ledgered, type RowSummary } from './summarise-row.ts';
import { throughputReport } from './throughput-report.ts';
import { startRows, startSpreadRows, type Row } from './throughput-rows.ts';

/** Every server of the table under the same load. */
export const throughput = (context: BenchContext): Promise<SectionReport> =>
  measure(context, { title: 'Throughput', start: startRows });

/** The gateway under other shapes of load. */
export const spread = (context: BenchContext): Promise<SectionReport> =>
  measure(context, { title: 'Many connections, several channels, two replicas', start: startSpreadRows });

async function measure(
  context: BenchContext,
  { title, start }: { title: string; start: (context: BenchContext, stack: ReleaseStack) => Promise<Row[]> },
): Promise<SectionReport> {
  const stack = releaseStack();
  context.stack.own('the servers of the table', async () => void (await stack.releaseAll()));
  const { tell } = context;
  tell('Starting the servers of the table');
  const rows = await start(context, stack);
  const run = (row: Row, pace: Pace): Promise<LoadResult> => runRow(context, row, pace);
  await warmUpRows(context, rows, run);
  await runRounds(context, rows, run);
  tell('Counting what the ledgers hold');
  const summaries: RowSummary[] = [];
  const ledgered: Ledgered[] = [];
  for (const row of rows) {
    const summary = summarise(row, peakMebibytesOf(row));
    summaries.push(summary);
    if (row.kept === undefined) continue;
    const { site, channels } = row.kept;
    ledgered.push({ ...summary, inLedger: await countRecords(site, ...channels), settings: site.settings });
  }
  await stack.releaseAll();
  const withheld = whyWithheld({ rows: summaries, ledgered, machine: context.machine });
  return throughputReport({ title, context, summaries, withheld, rows });
}

function runRow({ generator, options }: BenchContext, row: Row, pace: Pace) {
  const { destinations, connections = options.connections, body, watch } = row;
  return generator.run({
    ...{ ...destinations[0]!, destinations, connections, body, watch },
    keyPrefix: `bench-${randomBytes(6).toString('hex')}`,
    ...pace,
  });
}
