import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until, type ThrowawayPostgres } from '@sealgate/testing';
import { freshTag, type FabricNetwork } from './fabric-network.ts';
import type { Gateway } from './gateway-process.ts';
import { peerSetup, type PeerSetup } from './peer-setup.ts';

/** Processes of the ledger peer on a Fabric network, and the places of their assets in it. */
export interface FabricStage {
  readonly network: FabricNetwork;
  readonly setup: PeerSetup;
  /** Prefix of every id of a story; no other client of the network uses it. */
  readonly tag: string;
  /** For types that are mapped to our contract on the main channel. */
  readonly main: Place;
  /** The same on the other channel, which contains a single channel of ours. */
  readonly other: Place;
  /** Waits until no process has a transaction that is sent and not settled, and no job runs. */
  settled(): Promise<void>;
  stop(): Promise<void>;
}

/** The place of records: Fabric's channel, and the prefix of ids and types there. */
export interface Place {
  readonly fabricChannel: string;
  readonly prefix: string;
}

interface StageOptions {
  /** Processes on one database; default 2. */
  readonly peers?: number;
  /** The gateway peers that they know; default those of the network. */
  readonly gatewayPeers?: FabricNetwork['connection']['peers'];
  /** Timeout of a write for its caller, all phases and attempts together. */
  readonly answerMs?: number;
  /** A database of the story's own, which the story stops itself. */
  readonly postgres?: ThrowawayPostgres;
}

/** The deadlines in the form of the connection file. */
const deadlinesMs = { evaluate: 2000, endorse: 3000, submit: 1500, commitStatus: 1500, answer: 4000 };

/** The network's part of a connection file; `tag.*` is in the main channel, `tag.other` only in the other one. */
export function connectionOf(network: FabricNetwork, tag: string, options: StageOptions = {}): object {
  const { gatewayPeers = network.connection.peers, answerMs = deadlinesMs.answer } = options;
  return {
    ...network.connection,
    peers: gatewayPeers,
    channels: [
      { name: network.mainChannel, holds: ['*'] },
      { name: network.otherChannel, holds: [`${tag}.other`] },
    ],
    deadlinesMs: { ...deadlinesMs, answer: answerMs },
  };
}

/** Where a network that is reached by `connectionOf` has the records of our channels `<tag>.main` and `<tag>.other`. */
export const placesOf = (network: FabricNetwork, tag: string): { readonly main: Place; readonly other: Place } => ({
  main: { fabricChannel: network.mainChannel, prefix: `${tag}.main/` },
  other: { fabricChannel: network.otherChannel, prefix: '' },
});

/** A contract that writes again whenever it is asked. */
const COUNTING = {
  chaincode: 'basic',
  transactions: { write: 'CountAsset', read: 'ReadAsset', query: 'GetAllAssets' },
  arguments: { write: ['{id}'], read: ['{id}'], query: [] },
  idMember: 'ID',
  actions: { count: { transaction: 'CountAsset', arguments: ['{id}'] } },
};

/** A mapping of the third-party contract `basic`. */
export const VEHICLE = {
  type: 'vehicle',
  chaincode: 'basic',
  transactions: { write: 'CreateAsset', read: 'ReadAsset', query: 'GetAllAssets' },
  arguments: {
    write: ['{id}', '{data.color}', '{data.size}', '{data.owner}', '{data.value}'],
    read: ['{id}'],
    query: [],
  },
  idMember: 'ID',
};

const mappingOf = (tag: string) => ({
  mappings: [
    { type: 'asset', channel: `${tag}.main`, chaincode: 'records' },
    { type: 'kept', channel: `${tag}.main`, chaincode: 'records', write: 'upsert' },
    { type: 'other', channel: `${tag}.other`, chaincode: 'records' },
    { ...VEHICLE, channel: `${tag}.main` },
    { type: 'counted', channel: `${tag}.main`, ...COUNTING },
    { type: 'alone', channel: `${tag}.other`, ...COUNTING },
  ],
});

export async function fabricStage(network: FabricNetwork, options: StageOptions = {}): Promise<FabricStage> {
  const tag = freshTag();
  const folder = mkdtempSync(join(tmpdir(), 'sealgate-e2e-fabric-'));
  const [fabricConfig, mappingFile] = ['fabric.json', 'mapping.json'].map((name) => join(folder, name));
  writeFileSync(fabricConfig!, JSON.stringify(connectionOf(network, tag, options)));
  writeFileSync(mappingFile!, JSON.stringify(mappingOf(tag)));
  const setup = await peerSetup({
    peers: options.peers ?? 2,
    ...(options.postgres === undefined ? {} : { postgres: options.postgres }),
    env: {
      LEDGER_DRIVER: 'fabric',
      FABRIC_CONFIG: fabricConfig,
      MAPPING_FILE: mappingFile,
      LEDGER_INTEGRATOR: undefined,
      LEDGER_SIGNING_KEY: undefined,
    },
  });
  return {
    network,
    setup,
    tag,
    ...placesOf(network, tag),
    settled: () =>
      until(async () => (await unsettledOf(setup.peers)) === 0, {
        timeoutMs: 60_000,
        what: 'an end to every transaction that was sent',
      }),
    async stop() {
      await setup.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function unsettledOf(peers: readonly Gateway[]): Promise<number> {
  const all = await Promise.all(peers.map((peer) => gaugeOf(peer, 'ledger_unsettled_transactions')));
  return all.reduce((total, one) => total + one, 0);
}

/** The sum of all series of a gauge or counter of a process. Throws where the metric does not exist. */
export async function gaugeOf(process: Gateway, name: string): Promise<number> {
  const values = await seriesOf(process, name);
  if (values.length === 0) throw new Error(`There is no metric ${name}.`);
  return values.reduce((total, one) => total + one, 0);
}

/** Number of transactions that a process has written to its journal since its start. */
export async function journalledBy(process: Gateway): Promise<number> {
  const values = await seriesOf(process, 'ledger_phase_duration_seconds_count', ['phase="journal"', 'ok="true"']);
  return values.reduce((total, one) => total + one, 0);
}

async function seriesOf({ ops }: Gateway, name: string, labels: readonly string[] = []): Promise<number[]> {
  const { text } = await ops.send({ path: '/metrics' });
  const lines = text.split('\n').filter((line) => new RegExp(`^${name}(\\{[^}]*\\})? `).test(line));
  const wanted = lines.filter((line) => labels.every((label) => line.includes(label)));
  return wanted.map((line) => Number(line.split(' ').at(-1)));
}
