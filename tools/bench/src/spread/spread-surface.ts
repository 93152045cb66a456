import type { BenchContext, ReleaseStack } from '../bench-context.ts';
import { batchBody, batchRecords, recordBody } from '../bodies.ts';
import type { Row, RowLoad } from '../rows/row.ts';
import { echoed, echoRow, startPageServer } from '../servers/echo-server.ts';
import { makeSender, writes, type Sender } from '../surfaces/admin.ts';
import { fillAssets } from '../surfaces/fill-assets.ts';
import { checksOf, decisionLogFaults, prepareGateSite } from '../surfaces/gate-site.ts';
import { preparePeerSite } from '../surfaces/peer-site.ts';
import { firstPage, pageItems, prepareRiskSite } from '../surfaces/risk-site.ts';
import { prepareSite, type Site } from '../surfaces/site.ts';
import type { Surface } from '../surfaces/surface-process.ts';
import { provedTogether } from './proved-together.ts';

/** A surface that is measured as one replica and as several, on one database. */
export interface SpreadSurface {
  readonly name: string;
  readonly site: Site;
  /** The replica that integrates, alone or beside others. */
  readonly first: Surface;
  /** The load of one row, to the first replica, and for the gateway to so many channels at once. */
  readonly loadOf: (channels: number) => Promise<RowLoad>;
  /** The yardstick that gets the same requests. */
  readonly express: Row;
  readonly warmUpRequests: number;
  readonly recordsPerRequest: number;
  /** Of the gateway: a row's load of batches to so many channels at once, with its proof. */
  readonly batchesTo?: (channels: number) => Promise<Pick<Row, 'load' | 'recordsPerRequest' | 'proof'>>;
  /** Whether refusals are by design where so many wait: they are shown, and are no fault. */
  readonly mayRefuse?: boolean;
  /** Whether it is also measured while replicas are restarted. */
  readonly isRestarted: boolean;
  /** The proof of one more row: all rows of the surface are proved together. */
  readonly nextProof: () => NonNullable<Row['proof']>;
}

/** In the order of the tables. */
export const spreadSurfaces: readonly ((context: BenchContext, stack: ReleaseStack) => Promise<SpreadSurface>)[] = [
  spreadGateway,
  spreadGate,
  spreadPeer,
  spreadRisk,
];

/** Each row writes into channels of its own. */
async function spreadGateway(context: BenchContext, stack: ReleaseStack): Promise<SpreadSurface> {
  const site = await prepareSite(context, { name: 'spread_d', stack });
  const first = await site.start();
  const channels: string[] = [];
  let networks = 0;
  const sendersOf = async (count: number): Promise<Sender[]> => {
    const senders: Sender[] = [];
    for (; senders.length < count; networks += 1) senders.push(await makeSender(first, `spread-${networks}`));
    return senders;
  };
  return {
    ...{ name: 'gateway', site, first, warmUpRequests: 40_000, isRestarted: true },
    loadOf: async (count) => {
      const destinations = await sendersOf(count);
      channels.push(...destinations.map(({ channel }) => channel));
      return { destinations, body: recordBody() };
    },
    batchesTo: async (count) => {
      const destinations = await sendersOf(count);
      const load = { destinations, body: batchBody(batchRecords) };
      return {
        load,
        ...writes(
          site,
          destinations.map(({ channel }) => channel),
          batchRecords,
        ),
      };
    },
    express: await echoRow(context, stack),
    recordsPerRequest: 1,
    nextProof: provedTogether(writes(site, channels).proof),
  };
}

const subjects = 256;

/** A thousand connections that wait for each other wait longer than a door would: the deadline is not what is measured. */
async function spreadGate(context: BenchContext, stack: ReleaseStack): Promise<SpreadSurface> {
  const site = await prepareGateSite(context, { name: 'spread_b', stack, env: { GATE_DEADLINE_MS: '5000' } });
  const first = await site.start();
  context.tell(`Sealing ${subjects} subjects`);
  const load = await checksOf(first, subjects);
  const express = await echoRow(context, stack);
  return {
    ...{ name: 'gate', site, first, warmUpRequests: 40_000, recordsPerRequest: 0, isRestarted: true },
    loadOf: () => Promise.resolve(load),
    express: { ...express, load: echoed(load, express) },
    nextProof: provedTogether((answers) => decisionLogFaults(site, answers)),
  };
}

async function spreadPeer(context: BenchContext, stack: ReleaseStack): Promise<SpreadSurface> {
  const channel = 'spread.main';
  const site = await preparePeerSite(context, { name: 'spread_c', channel, stack });
  const first = await site.start();
  const load = site.assets(first, 1, 'spread');
  const express = await echoRow(context, stack);
  return {
    ...{ name: 'ledger peer', site, first, warmUpRequests: 20_000, isRestarted: false },
    loadOf: () => Promise.resolve(load),
    express: { ...express, load: { ...load, destinations: express.load.destinations } },
    recordsPerRequest: 1,
    nextProof: provedTogether(writes(site, [channel]).proof),
  };
}

const assets = 10_000;
/** One caller has eight requests that look under way: of so many, none has more of a thousand connections at a time. */
const partners = 128;

async function spreadRisk(context: BenchContext, stack: ReleaseStack): Promise<SpreadSurface> {
  const site = await prepareRiskSite(context, { name: 'spread_a', partners, stack });
  const { surface: first, keys } = site;
  await fillAssets(site, assets);
  const headers = { authorization: `Bearer ${keys.partner}` };
  const page = await fetch(`http://127.0.0.1:${first.port}${firstPage}`, { headers, signal: context.signal });
  const express = await startPageServer(context, stack, await page.text());
  const load = site.reads([{ method: 'GET', path: firstPage }]);
  return {
    ...{
      name: `pages of ${pageItems}`,
      site,
      first,
      mayRefuse: true,
      warmUpRequests: 10_000,
      recordsPerRequest: 0,
      isRestarted: false,
    },
    loadOf: () => Promise.resolve(load),
    express: {
      name: 'Express',
      watch: [{ name: 'server', pid: express.pid }],
      load: { ...load, destinations: [{ ...load.destinations[0]!, port: express.port }] },
      warmUpRequests: 10_000,
    },
    nextProof: provedTogether(() => Promise.resolve([])),
  };
}
