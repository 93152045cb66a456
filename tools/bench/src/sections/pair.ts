import assert from 'node:assert/strict';
import type { BenchContext, ReleaseStack } from '../bench-context.ts';
import { batchBody, batchRecords, recordBody, warmUpRequests } from '../bodies.ts';
import type { SectionReport } from '../report.ts';
import { measureRows } from '../rows/measure-rows.ts';
import type { Row, RowLoad } from '../rows/row.ts';
import { rowsReport } from '../rows/rows-report.ts';
import { beside, ratioOf } from '../rows/summarise.ts';
import { echoRow, EXPRESS } from '../servers/echo-server.ts';
import { makeSender } from '../surfaces/admin.ts';
import { fillAssets } from '../surfaces/fill-assets.ts';
import { checksOf, prepareGateSite } from '../surfaces/gate-site.ts';
import { preparePeerSite } from '../surfaces/peer-site.ts';
import { firstPage, pageItems, prepareRiskSite } from '../surfaces/risk-site.ts';
import { prepareSite, type Site } from '../surfaces/site.ts';
import type { Surface } from '../surfaces/surface-process.ts';
import { workspaceRoot } from '../workspace-root.ts';
import { withStack } from './table-section.ts';

const assets = 10_000;
const subjects = 64;
/** A difference below it is taken for the noise of the machine. */
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
    const pairs = before.flatMap((row, place) => {
      const { ratios, ...other } = after[place]!;
      return [row, { ...other, ratios: { ...ratios, 'after / before': row.name } }];
    });
    const measured = await measureRows(context, [await echoRow(context, stack), ...pairs]);
    const [express, ...summaries] = measured.all.map(({ summary }) => summary);
    const slower = summaries.filter(
      (summary, place) => place % 2 === 1 && !(ratioOf(summary, summaries[place - 1]!) >= 1 - noise),
    );
    const verdict =
      slower.length === 0
        ? `No surface is slower by more than ${100 * noise} %.`
        : `Slower by more than ${100 * noise} %: ${slower.map(({ name }) => name).join('; ')}.`;
    return rowsReport(context, {
      title: 'Before and after',
      measured: { server: measured },
      notes: [
        `"After" is this checkout, "before" is ${against}.`,
        `${beside(express!)}.`,
        ...(measured.withheld.length === 0 ? [verdict] : []),
      ],
    });
  });
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
