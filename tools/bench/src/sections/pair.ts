import assert from 'node:assert/strict';
import type { BenchContext, ReleaseStack } from '../bench-context.ts';
import { batchBody, batchRecords, recordBody, warmUpRequests } from '../bodies.ts';
import type { SectionReport } from '../report.ts';
import { measureRows } from '../rows/measure-rows.ts';
import type { Row, RowLoad, Summary } from '../rows/row.ts';
import { rowsReport } from '../rows/rows-report.ts';
import { beside, changeOf, cpuUsOf } from '../rows/summarise.ts';
import { echoRow, EXPRESS } from '../servers/echo-server.ts';
import { makeSender } from '../surfaces/admin.ts';
import { fillAssets } from '../surfaces/fill-assets.ts';
import { checksOf, prepareGateSite } from '../surfaces/gate-site.ts';
import { preparePeerSite } from '../surfaces/peer-site.ts';
import { firstPage, pageItems, prepareRiskSite } from '../surfaces/risk-site.ts';
import { prepareSite, type Site } from '../surfaces/site.ts';
import type { Surface } from '../surfaces/surface-process.ts';
import { decimals, right } from '../text-table.ts';
import { workspaceRoot } from '../workspace-root.ts';
import { withStack } from './table-section.ts';

const assets = 10_000;
const subjects = 64;
/** A loss below it is taken for the noise of the machine. */
const noise = 0.05;

/**
 * The surfaces as built here beside those of another checkout, round by round in turn: whether a change costs anything.
 * Every process has a database of its own. Written records are not counted; the other sections do that.
 */
export function pairSection(context: BenchContext): Promise<SectionReport> {
  const { against } = context.options;
  assert(against !== undefined, 'The options require it for this section.');
  return withStack(context, async (stack) => {
    context.tell('Starting the surfaces of both checkouts');
    const before = await surfaceRows(context, stack, { checkout: against, when: 'before' });
    const after = await surfaceRows(context, stack, { checkout: workspaceRoot, when: 'after' });
    const pairs = before.map((row, place) => [row, after[place]!]);
    const express = await echoRow(context, stack);
    // As many rounds in one order as in the other.
    const rounds = 2 * Math.ceil(context.options.rounds / 2);
    const measured = await measureRows(context, [express, ...pairs], rounds);
    const summaryOf = (row: Row): Summary => measured.all.find((one) => one.row === row)!.summary;
    const changes = pairs.map((pair) => changeRow(pair.map(summaryOf)));
    const columns = ['of requests/s', 'least of a round', 'greatest of a round', 'of CPU of all servers'].map(right);
    return rowsReport(context, {
      title: 'Before and after',
      measured: { server: measured },
      tables:
        measured.withheld.length > 0 ? [] : [{ columns: [{ name: 'after / before' }, ...columns], rows: changes }],
      notes: [
        `"After" is this checkout, "before" is ${against}. "Before" is measured first in odd rounds, "after" in even ones.`,
        `${beside(summaryOf(express))}.`,
      ],
    });
  });
}

/** The ratios of after to before. */
function changeRow([before, after]: readonly Summary[]): string[] {
  assert(before !== undefined && after !== undefined, 'A pair has two rows.');
  const { ratio, least, greatest } = changeOf(before, after);
  const cells = [ratio, least, greatest, cpuUsOf(after) / cpuUsOf(before)].map((value) => decimals(value, 3));
  return [ratio < 1 - noise ? `${after.name}: SLOWER` : after.name, ...cells];
}

async function surfaceRows(
  context: BenchContext,
  stack: ReleaseStack,
  { checkout, when }: { checkout: string; when: 'before' | 'after' },
): Promise<Row[]> {
  const siteOf = (surface: string) => ({ name: `${surface}_${when}`, checkout, stack });
  const row = (
    name: string,
    { site, surface }: { site: Site; surface: Surface },
    load: RowLoad,
    warmUp = warmUpRequests.single,
  ): Row => ({
    name: `${name}, ${when}`,
    watch: site.watch(surface),
    load,
    warmUpRequests: warmUp,
    ratios: { 'of Express': EXPRESS },
  });
  const ingest = await prepareSite(context, siteOf('d'));
  const gateway = { site: ingest, surface: await ingest.start() };
  const gateSite = await prepareGateSite(context, siteOf('b'));
  const gate = { site: gateSite, surface: await gateSite.start() };
  const risk = await prepareRiskSite(context, siteOf('a'));
  await fillAssets(risk, assets);
  const peerSite = await preparePeerSite(context, { ...siteOf('c'), channel: 'pair.main' });
  const peer = { site: peerSite, surface: await peerSite.start() };
  // A check that was late on a busy machine is denied: an answer like any other here.
  const { mustSay: _allow, ...checks } = await checksOf(gate.surface, subjects);
  const [single, batch] = [
    await makeSender(gateway.surface, 'pair-single'),
    await makeSender(gateway.surface, 'pair-batch'),
  ];
  return [
    row('D, single records', gateway, { destinations: [single], body: recordBody() }),
    row(
      `D, batches of ${batchRecords}`,
      gateway,
      { destinations: [batch], body: batchBody(batchRecords) },
      warmUpRequests.batch,
    ),
    row('B, gate checks', gate, { ...checks, expects: [200, 503] }),
    row(
      `A, pages of ${pageItems}`,
      { site: risk, surface: risk.surface },
      risk.reads([{ method: 'GET', path: firstPage }]),
      warmUpRequests.single / 4,
    ),
    row('C, single assets', peer, peerSite.assets(peer.surface, 1, 'pair')),
  ];
}
