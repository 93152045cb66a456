import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { releaseStack, type BenchContext, type ReleaseStack } from '../bench-context.ts';
import { assetsBody, batchBody, batchRecords, recordBody, warmUpRequests } from '../bodies.ts';
import { fillAssets } from '../gateway/fill-assets.ts';
import { makeDoor, prepareGateSite } from '../gateway/gate-site.ts';
import { makeSender } from '../gateway/gateway-admin.ts';
import type { Gateway } from '../gateway/gateway-process.ts';
import { prepareSite } from '../gateway/gateway-site.ts';
import { preparePeerSite } from '../gateway/peer-site.ts';
import { prepareRiskSite } from '../gateway/risk-site.ts';
import type { LoadPlan, LoadResult } from '../load/load-plan.ts';
import { median } from '../median.ts';
import type { SectionReport } from '../report.ts';
import { startEchoServer } from '../servers/echo-server.ts';
import { decimals, right, wholeNumber } from '../text-table.ts';
import { workspaceRoot } from '../workspace-root.ts';
import { runRounds, warmUpRows, type LoadedRow, type Pace } from './run-rows.ts';
import { firstPage, pageItems } from './reads-walk.ts';
import { beside, ratioTo, summarise, whyWithheld, type RowSummary } from './summarise-row.ts';

/** One line of the table: a request of a surface, built from one of the checkouts. */
interface PairRow extends LoadedRow {
  readonly plan: Omit<LoadPlan, 'until' | 'connections' | 'keyPrefix'>;
}

const assets = 10_000;
const subjects = 64;
/** A difference below it is taken for the noise of the machine. */
const noise = 0.05;

/**
 * The surfaces as built here beside those of another checkout, round by round in turn: whether a change costs anything.
 * Every process has a database of its own. Written records are not counted; the other sections do that.
 */
export async function pairSection(context: BenchContext): Promise<SectionReport> {
  const { against } = context.options;
  assert(against !== undefined, 'The options require it for this section.');
  const stack = releaseStack();
  context.stack.own('the surfaces of both checkouts', async () => void (await stack.releaseAll()));
  context.tell('Starting the surfaces of both checkouts');
  const express = await expressRow(context, stack);
  const before = await surfaceRows(context, stack, { checkout: against, name: 'before' });
  const after = await surfaceRows(context, stack, { checkout: workspaceRoot, name: 'after' });
  const rows = [express, ...before.flatMap((row, place) => [row, after[place]!])];
  const run = ({ plan }: PairRow, pace: Pace): Promise<LoadResult> =>
    context.generator.run({
      ...{ ...plan, ...pace, connections: context.options.connections },
      keyPrefix: `pair-${randomBytes(6).toString('hex')}`,
    });
  await warmUpRows(context, rows, run);
  await runRounds(context, rows, run);
  await stack.releaseAll();
  return pairReport(context, express, before, after);
}

async function expressRow(context: BenchContext, stack: ReleaseStack): Promise<PairRow> {
  const server = await startEchoServer('express-echo', join(context.folder, 'express-echo.log'));
  stack.own('Express', () => server.stop());
  return {
    name: 'Express 5 echo',
    plan: {
      ...{ port: server.port, path: '/bench', body: recordBody(), watch: [{ name: 'server', pid: server.pid }] },
      headers: { 'Content-Type': 'application/json' },
    },
    ...{ warmUpRequests: warmUpRequests.single, warmUps: [], rounds: [] },
  };
}

async function surfaceRows(
  context: BenchContext,
  stack: ReleaseStack,
  { checkout, name }: { checkout: string; name: string },
): Promise<PairRow[]> {
  const of = { checkout, redisUrl: context.redis?.url, stack };
  const ingest = await prepareSite(context, { name: `d_${name}`, ...of });
  const gateway = await ingest.start();
  const single = await makeSender({ site: ingest, gateway }, 'pair-single');
  const batch = await makeSender({ site: ingest, gateway }, 'pair-batch');
  const gateSite = await prepareGateSite(context, { name: `b_${name}`, ...of });
  const gate = await gateSite.start();
  const door = await makeDoor({ site: gateSite, gateway: gate }, subjects);
  const risk = await prepareRiskSite(context, { name: `a_${name}`, ...of });
  await fillAssets(risk, assets);
  const peerSite = await preparePeerSite(context, { name: `c_${name}`, channel: 'pair.main', checkout, stack });
  const peer = await peerSite.start();
  const row = (
    title: string,
    { pid, port }: Gateway,
    plan: Pick<LoadPlan, 'path' | 'headers'> & Partial<LoadPlan>,
    warmUp = warmUpRequests.single,
  ): PairRow => ({
    name: `${title}, ${name}`,
    plan: {
      ...{ port, body: '', ...plan },
      watch: [
        { name: 'server', pid },
        { name: 'postgres', pid: context.postgres.pid, family: true },
      ],
    },
    ...{ warmUpRequests: warmUp, warmUps: [], rounds: [] },
  });
  const page = { method: 'GET', path: firstPage } as const;
  return [
    row('D, single records', gateway, { ...single, body: recordBody() }),
    row(`D, batches of ${batchRecords}`, gateway, { ...batch, body: batchBody(batchRecords) }, warmUpRequests.batch),
    row('B, gate checks', gate, { ...door, sendsKey: false }),
    row(
      `A, pages of ${pageItems}`,
      risk.surface,
      { path: firstPage, headers: { Authorization: `Bearer ${risk.keys.partner}` }, requests: [page] },
      warmUpRequests.single / 4,
    ),
    row('C, single assets', peer, {
      path: '/api/assets',
      headers: { 'Content-Type': 'application/json', 'X-Api-Key': peerSite.key },
      ...{ body: assetsBody(1, 'pair'), sendsKey: false },
    }),
  ];
}

function pairReport(
  context: BenchContext,
  express: PairRow,
  before: readonly PairRow[],
  after: readonly PairRow[],
): SectionReport {
  const summaryOf = (row: PairRow): RowSummary =>
    summarise({ ...row, kind: 'spread', recordsPerRequest: 0 }, undefined);
  const yardstick = summaryOf(express);
  const pairs = before.map((row, place) => ({ row, other: after[place]! }));
  const withheld = whyWithheld({
    rows: [yardstick, ...[...before, ...after].map(summaryOf)],
    ledgered: [],
    machine: context.machine,
  });
  const isValid = withheld.length === 0;
  const cells = (summary: RowSummary, change: string): string[] => [
    summary.name,
    wholeNumber(summary.requestsPerSecond),
    decimals(isValid ? ratioTo(yardstick, summary) : undefined, 3),
    decimals(summary.serverUs, 1),
    decimals(summary.postgresUs, 1),
    decimals(summary.p99Ms, 1),
    change,
  ];
  const ratios = pairs.map(({ row, other }) => ratioOfRounds(row, other));
  const slower = pairs.filter((_, place) => !(ratios[place]! >= 1 - noise)).map(({ other }) => other.name);
  const verdict =
    slower.length === 0
      ? `No surface is slower by more than ${100 * noise} %.`
      : `Slower by more than ${100 * noise} %: ${slower.join('; ')}.`;
  return {
    title: 'Before and after',
    tables: [
      {
        columns: [
          { name: 'server' },
          ...['requests/s', 'of Express', 'CPU us', 'PostgreSQL us', 'p99 ms', 'after / before'].map(right),
        ],
        rows: [
          cells(yardstick, ''),
          ...pairs.flatMap(({ row, other }, place) => [
            cells(summaryOf(row), ''),
            cells(summaryOf(other), decimals(isValid ? ratios[place] : undefined, 3)),
          ]),
        ],
      },
    ],
    notes: [
      `"After" is this checkout, "before" is ${context.options.against}. The last column is the median over the rounds of requests/s after, divided by that of the round just before.`,
      `${beside('Beside Express', yardstick)}. Other processes used ${decimals(100 * yardstick.otherShare, 0)} % of the cores.`,
      ...(isValid ? [verdict] : []),
    ],
    findings: [],
    withheld,
    measured: [express, ...before, ...after],
  };
}

/** Each round has the same load of the machine as the one of the other checkout beside it. */
function ratioOfRounds(before: PairRow, after: PairRow): number {
  const perSecond = ({ measured, measuredMs }: LoadResult): number => measured / measuredMs;
  return median(after.rounds.map((round, number) => perSecond(round) / perSecond(before.rounds[number]!)));
}
