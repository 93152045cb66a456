import { setTimeout as delay } from 'node:timers/promises';
import { releaseStack, type BenchContext, type ReleaseStack } from '../bench-context.ts';
import { assetBytes } from '../bodies.ts';
import { countRecords } from '../gateway/gateway-admin.ts';
import { preparePeerSite } from '../gateway/peer-site.ts';
import type { ReportTable, SectionReport } from '../report.ts';
import { startDirectClient } from '../servers/direct-client.ts';
import type { DirectKind } from '../servers/fabric-direct-plan.ts';
import type { Finding } from '../targets.ts';
import { countOnFabric, fabricForBench, type BenchFabric } from './peer-fabric.ts';
import { findingsOf, summarisePeer, tableOf, type PeerSummary } from './peer-report.ts';
import { directRow, peerRow, type PeerRow } from './peer-rows.ts';

const channel = 'bench.main';
const settleMs = 500;
const batch = 100;
/**
 * Transactions of a five-second round on Fabric, by assets and transactions in flight; scaled for other lengths. A
 * round of a number ends when its last transaction is in a block: with a hundred assets and two hundred in flight a
 * transaction takes longer than a timed round, which would end before its first one.
 */
const roundsOnFabric = [
  { assets: 1, inFlight: 1, transactions: 40, lasts: 1 },
  { assets: 1, inFlight: 50, transactions: 800, lasts: 1 },
  // The CPU cost of a submit is taken from this one; V8 is still compiling during its first thousands.
  { assets: 1, inFlight: 200, transactions: 1_600, lasts: 3 },
  { assets: batch, inFlight: 1, transactions: 10, lasts: 1 },
  { assets: batch, inFlight: 50, transactions: 100, lasts: 1 },
  { assets: batch, inFlight: 200, transactions: 200, lasts: 1 },
] as const;
const countedForMs = 5_000;
/** Warm-up share of a round; a round that lasts longer runs in full. */
const warmUpShare = 1 / 3;
/** Share of the requested rounds: there are many rows. */
const roundsShare = 0.6;

/** The ledger peer: on the embedded ledger, and beside Fabric's own client where there is a real network. */
export async function peerSection(context: BenchContext): Promise<SectionReport> {
  const stack = releaseStack();
  context.stack.own('the ledger peers', async () => void (await stack.releaseAll()));
  const embedded = await onEmbedded(context, stack);
  const network = await fabricForBench(context, stack);
  const fabric = 'missing' in network ? [] : await onFabric(context, stack, network);
  await stack.releaseAll();
  const summaries = [...embedded, ...fabric];
  const withheld = summaries.flatMap(whyWithheld);
  const tables: ReportTable[] = [tableOf('on the embedded ledger', embedded)];
  if (fabric.length > 0) tables.push(tableOf('on a Fabric network', fabric));
  const findings: Finding[] = withheld.length > 0 ? [] : findingsOf(embedded, fabric);
  return {
    title: 'The ledger peer',
    tables,
    notes: [
      `A request is one transaction, of assets with ${assetBytes} bytes of data and new ids. CPU us is user and system time of the client process for each transaction: of the ledger peer, of a program that uses Fabric's own client with one CommitStatus call per transaction, as its guide shows, or of one that uses the ledger peer's driver.`,
      ...('missing' in network ? [network.missing] : [network.says]),
      ...(withheld.length === 0 ? ['Every acknowledged asset was counted in the ledger, once.'] : []),
    ],
    findings,
    withheld,
    measured: summaries,
  };
}

async function onEmbedded(context: BenchContext, stack: ReleaseStack): Promise<PeerSummary[]> {
  const site = await preparePeerSite(context, { name: 'peer_embedded', channel, stack });
  const address = { peer: await site.start(), key: site.key };
  const row = (assets: number) =>
    peerRow(context, address, {
      ...{ name: 'ledger peer', assets, inFlight: context.options.connections, type: `embedded-${assets}` },
      warmUp: warmUpShare,
      round: { durationMs: context.options.roundMs },
    });
  const rows = [row(1), row(batch)];
  await runRows(context, rows);
  const inLedger = await countRecords(site, channel);
  const acknowledged = rows.reduce((sum, { all, assets }) => sum + assets * succeeded(all), 0);
  // Both wrote to one channel, so the counts are right for both or for neither.
  return rows.map((each) => summarisePeer(each, inLedger === acknowledged ? assetsOf(each) : inLedger));
}

async function onFabric(context: BenchContext, stack: ReleaseStack, network: BenchFabric): Promise<PeerSummary[]> {
  const { connectionFile, fabricChannel } = network;
  const site = await preparePeerSite(context, { name: 'peer_fabric', channel, fabricConfig: connectionFile, stack });
  const address = { peer: await site.start(), key: site.key };
  const { ownerUrl: databaseUrl } = site;
  const direct = (kind: DirectKind) => {
    const client = startDirectClient();
    stack.own(`the client without HTTP (${kind})`, () => client.stop());
    return { client, plan: { connectionFile, fabricChannel, kind, databaseUrl }, prefix: `${channel}/` };
  };
  const [sdk, native, driver] = [direct('sdk'), direct('native'), direct('driver')];
  const { roundMs } = context.options;
  const rows = roundsOnFabric.flatMap(({ assets, inFlight, transactions, lasts }) => {
    const requests = Math.ceil((transactions * lasts * roundMs) / countedForMs);
    const warmUp = Math.min(1, warmUpShare * lasts);
    const shape = { assets, inFlight, warmUp, round: { requests, sendForMs: lasts * roundMs } };
    const typeOf = (client: string): string => `${client}-${assets}-${inFlight}`;
    return [
      directRow(sdk, { ...shape, name: 'direct client, SDK signer', type: typeOf('sdk') }),
      directRow(native, { ...shape, name: 'direct client, native signer', type: typeOf('native') }),
      peerRow(context, address, { ...shape, name: 'ledger peer', type: typeOf('peer') }),
      directRow(driver, { ...shape, name: 'its driver alone, without HTTP', type: typeOf('driver') }),
    ];
  });
  await runRows(context, rows);
  const summaries: PeerSummary[] = [];
  for (const each of rows) summaries.push(summarisePeer(each, await countOnFabric(network, `${channel}/${each.type}`)));
  return summaries;
}

/** Round by round in turn, so that other load of the machine affects all of them. */
async function runRows({ options, tell, signal }: BenchContext, rows: readonly PeerRow[]): Promise<void> {
  const run = async (row: PeerRow, share: number) => {
    signal.throwIfAborted();
    const round = await row.run(share);
    row.all.push(round);
    await delay(settleMs);
    return round;
  };
  for (const row of rows) {
    tell(`Warming up: ${row.name}, ${row.assets} assets, ${row.inFlight} in flight`);
    await run(row, row.warmUp);
  }
  const rounds = Math.ceil(options.rounds * roundsShare);
  for (let number = 1; number <= rounds; number += 1) {
    tell(`Round ${number} of ${rounds}`);
    for (const row of rows) row.rounds.push(await run(row, 1));
  }
}

const succeeded = (rounds: PeerRow['all']): number => rounds.reduce((sum, round) => sum + round.succeeded, 0);
const assetsOf = ({ all, assets }: PeerRow): number => succeeded(all) * assets;

function whyWithheld({ name, type, refused, firstProblem, acknowledged, inLedger }: PeerSummary): string[] {
  const reasons: string[] = [];
  if (refused > 0) reasons.push(`${name} (${type}): ${refused} transactions failed (${firstProblem ?? 'refused'}).`);
  if (inLedger !== acknowledged) {
    reasons.push(`${name} (${type}): ${acknowledged} assets were acknowledged, the ledger holds ${inLedger}.`);
  }
  return reasons;
}
