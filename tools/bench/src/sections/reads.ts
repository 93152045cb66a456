import type { BenchContext, ReleaseStack } from '../bench-context.ts';
import type { PlannedRequest } from '../load/load-plan.ts';
import type { Row, RowLoad } from '../rows/row.ts';
import { ratioOf } from '../rows/summarise.ts';
import { startPageServer } from '../servers/echo-server.ts';
import { durabilityFaults } from '../surfaces/durable-settings.ts';
import { fillAssets } from '../surfaces/fill-assets.ts';
import { firstPage, pageItems, prepareRiskSite, type RiskSite } from '../surfaces/risk-site.ts';
import { wholeNumber } from '../text-table.ts';
import { tableSection } from './table-section.ts';

/** The fixed rate, in pages. */
const perSecond = 200;
const PAGE = 'Express 5, the same page by res.json';
const REST = 'partner API';
const FIRST = 'partner API, page 1, one connection';

/** The partner list of surface A at size: every page beside bare Express, at a fixed rate, and near beside far. */
export const readsSection = tableSection(async (context, stack) => {
  const { options, tell } = context;
  const assets = options.ledgerRecords;
  // A cursor is of one caller.
  const site = await prepareRiskSite(context, { name: 'reads', stack, partners: 1 });
  tell(`Making an organisation of ${assets} assets`);
  await fillAssets(site, assets);
  tell('Walking over every page');
  const walk = await walkAll(context, site);
  const pages = wholeNumber(walk.cursors.length);
  return {
    title: `Lists of ${wholeNumber(assets)} assets`,
    rows: await readRows(context, { site, walk, stack }),
    notes: [
      `Pages of ${pageItems} in random order out of all ${pages}, each of which was read once before. Express answers each with the same page of ${wholeNumber(Buffer.byteLength(walk.firstPage))} bytes, as an object by \`res.json\`.`,
    ],
    withheld: [
      ...durabilityFaults(site.settings),
      ...(walk.items === assets ? [] : [`The pages have ${walk.items} assets, and there are ${assets}.`]),
    ],
  };
});

interface Walk {
  /** Of every page; undefined: the first. */
  readonly cursors: readonly (string | undefined)[];
  readonly items: number;
  /** The text of the first page. */
  readonly firstPage: string;
}

/** Reads the whole list, for the cursors. */
async function walkAll({ signal }: BenchContext, { surface, keys }: RiskSite): Promise<Walk> {
  const cursors: (string | undefined)[] = [];
  let [items, first] = [0, ''];
  for (let cursor: string | null | undefined; cursor !== null;) {
    const path = pathOf(cursor);
    const headers = { authorization: `Bearer ${keys.partner}` };
    const response = await fetch(`http://127.0.0.1:${surface.port}${path}`, { headers, signal });
    const text = await response.text();
    if (response.status !== 200) throw new Error(`GET ${path} answered ${response.status}: ${text.slice(0, 400)}`);
    const page: { items: unknown[]; pagination: { nextCursor: string | null } } = JSON.parse(text);
    cursors.push(cursor);
    items += page.items.length;
    first ||= text;
    cursor = page.pagination.nextCursor;
  }
  return { cursors, items, firstPage: first };
}

const pathOf = (cursor: string | undefined): string =>
  cursor === undefined ? firstPage : `${firstPage}&cursor=${cursor}`;

const pageRequest = (cursor: string | undefined): PlannedRequest => ({ method: 'GET', path: pathOf(cursor) });

/** The tool of MCP that lists the same page. */
function toolCall(cursor: string | undefined): PlannedRequest {
  const params = { name: 'list_assets', arguments: { limit: pageItems, ...(cursor === undefined ? {} : { cursor }) } };
  return {
    method: 'POST',
    path: '/mcp',
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  };
}

async function readRows(
  context: BenchContext,
  { site, walk, stack }: { site: RiskSite; walk: Walk; stack: ReleaseStack },
): Promise<Row[]> {
  const { cursors } = walk;
  const express = await startPageServer(context, stack, walk.firstPage);
  const pages = site.reads(cursors.map(pageRequest));
  const mcpHeaders = { Accept: 'application/json, text/event-stream', 'Content-Type': 'application/json' };
  const row = (name: string, load: RowLoad, more: Partial<Row> = {}): Row => {
    return { name, load, watch: site.watch(site.surface), warmUpRequests: 5_000, ...more };
  };
  const lastPage = cursors.length;
  return [
    row(
      PAGE,
      { ...pages, destinations: [{ ...pages.destinations[0]!, port: express.port }] },
      {
        watch: [{ name: 'server', pid: express.pid }],
        warmUpRequests: 20_000,
        ratios: { 'of Express': PAGE },
      },
    ),
    row(REST, pages, {
      ratios: { 'of Express': PAGE },
      findings: (self, of) => [{ target: 'readsOfExpress', value: ratioOf(self, of(PAGE)) }],
    }),
    row('tool list_assets (MCP)', site.reads(cursors.map(toolCall), mcpHeaders), {
      ratios: { 'of Express': PAGE },
      findings: (self, of) => [{ target: 'readsByMcp', value: ratioOf(self, of(REST)) }],
    }),
    row(`partner API, ${perSecond} each second`, pages, {
      perSecond,
      findings: ({ p99Ms }) => [{ target: 'readsLatency', value: p99Ms }],
    }),
    row(FIRST, { ...site.reads([pageRequest(undefined)]), connections: 1 }, { warmUpRequests: 0 }),
    row(
      `partner API, page ${wholeNumber(lastPage)}, one connection`,
      { ...site.reads([pageRequest(cursors.at(-1))]), connections: 1 },
      {
        warmUpRequests: 0,
        findings: ({ p50Ms }, of) => [
          { target: 'readsFarPage', value: p50Ms / of(FIRST).p50Ms, of: `page ${wholeNumber(lastPage)}` },
        ],
      },
    ),
  ];
}
