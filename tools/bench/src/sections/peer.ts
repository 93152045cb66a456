import { join } from 'node:path';
import type { BenchContext, ReleaseStack } from '../bench-context.ts';
import { assetBytes, recordsArgument } from '../bodies.ts';
import { startGenerator } from '../load/generator.ts';
import type { SectionReport } from '../report.ts';
import { measureRows, type MeasuredRows } from '../rows/measure-rows.ts';
import type { Row } from '../rows/row.ts';
import { rowsReport } from '../rows/rows-report.ts';
import { ratioOf } from '../rows/summarise.ts';
import { writes } from '../surfaces/admin.ts';
import { preparePeerSite } from '../surfaces/peer-site.ts';
import { countOnFabric, fabricForBench } from './peer-fabric.ts';
import { withStack } from './table-section.ts';

const channel = 'bench.main';
const batch = 100;
const highestInFlight = 200;
/**
 * Transactions of a five-second round on Fabric, by assets and transactions in flight; scaled for other lengths. A
 * round of a number ends when its last transaction is in a block: with a hundred assets and two hundred in flight a
 * transaction takes longer than a timed round, which would end before its first one.
 */
const roundsOnFabric = [
  { assets: 1, inFlight: 1, transactions: 40 },
  // Longer than a round: the CPU cost of a submit is taken from this one.
  { assets: 1, inFlight: highestInFlight, transactions: 4_800, sendForMs: 15_000 },
  { assets: batch, inFlight: 1, transactions: 10 },
  { assets: batch, inFlight: highestInFlight, transactions: 200 },
] as const;
const roundMs = 5_000;
/** Share of the requested rounds: there are many rows. */
const roundsShare = 0.6;

/** The ledger peer: on the embedded ledger, and beside Fabric's own client where there is a real network. */
export function peerSection(context: BenchContext): Promise<SectionReport> {
  return withStack(context, async (stack) => {
    const embedded = await measureRows(context, await embeddedRows(context, stack));
    const { fabric, said } = await onFabric(context, stack);
    return rowsReport(context, {
      title: 'The ledger peer',
      measured: { 'on the embedded ledger': embedded, ...(fabric && { 'on a Fabric network': fabric }) },
      notes: [
        `A request is one transaction, of assets with ${assetBytes} bytes of data and new ids. Every acknowledged asset was counted in the ledger, once, unless ratios are withheld.`,
        said,
      ],
    });
  });
}

async function embeddedRows(context: BenchContext, stack: ReleaseStack): Promise<Row[]> {
  const row = async (assets: number): Promise<Row> => {
    const own = `bench.embedded-${assets}`;
    const site = await preparePeerSite(context, { name: `peer_embedded_${assets}`, channel: own, stack });
    const peer = await site.start();
    return {
      name: `ledger peer, ${assets} assets a transaction`,
      watch: site.watch(peer),
      load: site.assets(peer, assets, 'bench'),
      warmUpRequests: 1_000,
      ...writes(site, [own], assets),
      findings: ({ recordsPerSecond: value }) => (assets === batch ? [{ target: 'peerAssets', value }] : []),
    };
  };
  return [await row(1), await row(batch)];
}

async function onFabric(
  context: BenchContext,
  stack: ReleaseStack,
): Promise<{ readonly fabric?: MeasuredRows; readonly said: string }> {
  const network = await fabricForBench(context, stack);
  if ('missing' in network) return { said: network.missing };
  const { connectionFile, fabricChannel } = network;
  const site = await preparePeerSite(context, { name: 'peer_fabric', channel, fabricConfig: connectionFile, stack });
  const peer = await site.start();
  const program = join(import.meta.dirname, '../servers/fabric-direct.ts');
  const direct = startGenerator(program, [connectionFile, fabricChannel]);
  stack.own("Fabric's own client", () => direct.stop());
  const rows = roundsOnFabric.flatMap(({ assets, inFlight, transactions, ...more }): Row[] => {
    const shape = `${assets} assets, ${inFlight} in flight`;
    const scale = context.options.roundMs / roundMs;
    const requests = Math.ceil(transactions * scale);
    const directName = `direct client, ${shape}`;
    const rowOf = (name: string, type: string): Pick<Row, 'name' | 'until' | 'warmUpRequests' | 'proof'> => ({
      name,
      warmUpRequests: Math.ceil(requests / 3),
      until: { requests, sendForMs: ('sendForMs' in more ? more.sendForMs : roundMs) * scale },
      proof: async (answers) => {
        const inLedger = await countOnFabric(network, `${channel}/${type}`);
        return inLedger === answers * assets
          ? []
          : [`${answers * assets} assets were acknowledged, the ledger holds ${inLedger}.`];
      },
    });
    const [directType, peerType] = [`direct-${assets}-${inFlight}`, `peer-${assets}-${inFlight}`];
    // The ledger peer adds this prefix to types and ids on a shared channel.
    const argument = recordsArgument(assets, { type: `${channel}/${directType}`, idPrefix: `${channel}/` });
    return [
      {
        ...rowOf(directName, directType),
        generator: direct,
        watch: [{ name: 'server', pid: direct.pid }],
        recordsPerRequest: assets,
        load: { destinations: [], body: argument, connections: inFlight },
      },
      {
        ...rowOf(`ledger peer, ${shape}`, peerType),
        watch: [{ name: 'server', pid: peer.pid }],
        recordsPerRequest: assets,
        load: { ...site.assets(peer, assets, peerType), connections: inFlight },
        ratios: { 'of direct': directName },
        findings: (self, of) =>
          inFlight === highestInFlight
            ? [{ target: 'peerTransactions', value: ratioOf(self, of(directName)), of: shape }]
            : [],
      },
    ];
  });
  const rounds = Math.ceil(context.options.rounds * roundsShare);
  return { fabric: await measureRows(context, rows, rounds), said: network.says };
}
