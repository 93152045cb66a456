import { setTimeout as delay } from 'node:timers/promises';
import type { BenchContext } from '../bench-context.ts';
import { assetBytes } from '../bodies.ts';
import { countRecords } from '../gateway/gateway-admin.ts';
import { preparePeerSite } from '../gateway/peer-site.ts';
import { releaseStack, type ReleaseStack } from '../release-stack.ts';
import type { ReportTable, SectionReport } from '../report.ts';
import { startDirectClient } from '../servers/direct-client.ts';
import type { Finding } from '../targets.ts';
import { countOnFabric, fabricForBench, type BenchFabric } from './peer-fabric.ts';
import { findingsOf, summarisePeer, tableOf, type PeerSummary } from './peer-report.ts';
import { directRow, peerRow, type PeerRow } from './peer-rows.ts';

const channel = 'bench.main';
const settleMs = 500;
const batch = 100;
const inFlightOnFabric = [1, 50, 200] as const;

/** The ledger peer: on the embedded ledger, and beside the client of Fabric itself where there is a real network. */
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
      `A request is one transaction, of assets with ${assetBytes} bytes of data and ids never used before. CPU us is user and system time of the client process for each transaction: of the ledger peer, or of the program that uses Fabric's own client, one CommitStatus call a transaction, as its guide shows it.`,
      ...('missing' in network ? [network.missing] : [network.says]),
      ...(withheld.length === 0 ? ['Everything acknowledged was counted in the ledger, once.'] : []),
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
    });
  const rows = [row(1), row(batch)];
  await runRows(context, rows);
  const inLedger = await countRecords(site, channel);
  const acknowledged = rows.reduce((sum, { all, assets }) => sum + assets * succeeded(all), 0);
  // One channel holds what both wrote, so both are right or neither.
  return rows.map((each) => summarisePeer(each, inLedger === acknowledged ? assetsOf(each) : inLedger));
}

async function onFabric(context: BenchContext, stack: ReleaseStack, network: BenchFabric): Promise<PeerSummary[]> {
  const { connectionFile, fabricChannel } = network;
  const site = await preparePeerSite(context, { name: 'peer_fabric', channel, fabricConfig: connectionFile, stack });
  const address = { peer: await site.start(), key: site.key };
  const client = startDirectClient();
  stack.own('the direct client', () => client.stop());
  const direct = (signing: 'sdk' | 'native') => ({
    ...{ client, plan: { connectionFile, fabricChannel, signing }, prefix: `${channel}/` },
  });
  const rows = inFlightOnFabric.flatMap((inFlight) =>
    [1, batch].flatMap((assets) => [
      directRow(direct('sdk'), {
        ...{ name: 'direct client, SDK signer', assets, inFlight },
        type: `sdk-${assets}-${inFlight}`,
      }),
      directRow(direct('native'), {
        ...{ name: 'direct client, native signer', assets, inFlight },
        type: `native-${assets}-${inFlight}`,
      }),
      peerRow(context, address, { ...{ name: 'ledger peer', assets, inFlight }, type: `peer-${assets}-${inFlight}` }),
    ]),
  );
  await runRows(context, rows);
  const summaries: PeerSummary[] = [];
  for (const each of rows) summaries.push(summarisePeer(each, await countOnFabric(network, `${channel}/${each.type}`)));
  return summaries;
}

/** Round by round in turn, so that what the machine does besides meets all of them. */
async function runRows({ options, tell, signal }: BenchContext, rows: readonly PeerRow[]): Promise<void> {
  const run = async (row: PeerRow, durationMs: number) => {
    signal.throwIfAborted();
    const round = await row.run(durationMs);
    row.all.push(round);
    await delay(settleMs);
    return round;
  };
  for (const row of rows) {
    tell(`Warming up: ${row.name}, ${row.assets} assets, ${row.inFlight} in flight`);
    await run(row, options.roundMs);
  }
  for (let number = 1; number <= options.rounds; number += 1) {
    tell(`Round ${number} of ${options.rounds}`);
    for (const row of rows) row.rounds.push(await run(row, options.roundMs));
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
