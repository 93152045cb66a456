import { existsSync, statfsSync } from 'node:fs';
import { resolve } from 'node:path';
import { explainFileError } from '@sealgate/local-services';
import { checkContracts, keepCollections } from './contract-settings.ts';
import { DevnetError } from './devnet-error.ts';
import { type FabricCommands, findFabricCommands, hasDockerEngine } from './fabric-commands.ts';
import { commitContract, installContract, type Lifecycle } from './lifecycle.ts';
import { checkCertificates, makeNetworkFiles, writeConnectionFiles } from './network-files.ts';
import { emptyFolder, locked, type NetworkMemory, readMemory, takeFolder, writeMemory } from './network-folder.ts';
import {
  type ContractPrograms,
  contractsIn,
  contractsWithPrograms,
  defaultBatchTimeoutMs,
  defaultPortBase,
  networkPlan,
  type NetworkPlan,
} from './network-plan.ts';
import { openNodes, rolesOf, rolesOfContracts } from './nodes.ts';
import { ordererChannels } from './orderer-channels.ts';
import { joinChannel, joinedChannels, peerClient } from './peer-client.ts';
import { canRead, proveCommits } from './probe.ts';
import { startRoles, waitUntil } from './running-roles.ts';
import type { Nodes } from './compose-nodes.ts';

export interface UpOptions {
  /** Absolute. */
  readonly data: string;
  /** Remove an existing network, and create a new one. */
  readonly fresh?: boolean;
  /** Undefined: the setting of an existing network, else 4300. */
  readonly portBase?: number;
  /** Undefined: the setting of an existing network, else 200. */
  readonly batchTimeoutMs?: number;
  /** 2 or 3; undefined: the setting of an existing network, else 2. */
  readonly organizations?: number;
  /** Peers require client certificates; undefined: the setting of an existing network, else false. */
  readonly mutualTls?: boolean;
  /**
   * Programs of the contracts, absolute paths: scripts for Node (.js, .ts, ...) or executables. Those not given stay as
   * they are; a new network runs `records` of this checkout and no other. A contract whose program has changed is
   * restarted; one with another name is added.
   */
  readonly programs?: ContractPrograms;
  /** Definitions of private collections by contract: absolute paths of files as of `--collections-config`. */
  readonly collections?: Readonly<Record<string, string>>;
  readonly env: NodeJS.ProcessEnv;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** One line of progress. */
  readonly tell: (line: string) => void;
}

export interface UpResult {
  readonly plan: NetworkPlan;
  readonly nodes: Nodes;
  readonly contracts: readonly string[];
  /** The network was up: nothing was done. */
  readonly wasUp: boolean;
}

/**
 * Brings up the network of a data folder, from nothing or from the state that an earlier start or a crash left: each
 * step is idempotent. Returns once a transaction has committed on every channel through every organisation.
 * @throws DevnetError or LocalServiceError, each with one sentence; MissingCommandsError without Fabric's commands.
 */
export async function up(options: UpOptions): Promise<UpResult> {
  const { data } = options;
  try {
    const commands = await findFabricCommands({ env: options.env, hasDocker: hasDockerEngine });
    takeFolder(data);
    return await locked(networkPlan(data, settingsOf(options, undefined)).lockFile, () => upLocked(options, commands));
  } catch (error) {
    throw explainFileError(isFull(data) ? explainFull(error, data) : error, data);
  }
}

const hardlyAnythingBytes = 1024 * 1024;

function isFull(data: string): boolean {
  if (!existsSync(data)) return false;
  const { bavail, bsize } = statfsSync(data);
  return bavail * bsize < hardlyAnythingBytes;
}

/** On a full disk the nodes report nothing or another error, so that the disk goes first in the message. */
function explainFull(error: unknown, data: string): unknown {
  if (!(error instanceof DevnetError) || error.message.startsWith('The disk')) return error;
  return new DevnetError(`The disk that holds ${data} is full. ${error.message}`, { cause: error });
}

async function upLocked(options: UpOptions, commands: FabricCommands): Promise<UpResult> {
  const { data, env, tell } = options;
  if (options.fresh === true) await forget(options);
  const before = readMemory(data);
  refuseOtherSettings(options, before);
  const programs: ContractPrograms = { records: ownContract, ...before?.programs, ...options.programs };
  checkContracts(programs, options.collections ?? {});
  const settings = { ...settingsOf(options, before), programs };
  const inDocker = isInDocker(before, commands);
  if (inDocker && settings.organizations > 2)
    throw new DevnetError('In Docker a network has two organisations: a third needs the commands of Fabric.');
  const plan = networkPlan(data, settings);
  const nodes = openNodes({ plan, commands, inDocker, programs, env });
  const contracts = contractsWithPrograms(programs);
  const result = { plan, nodes, contracts };
  checkCertificates(plan, options.now());
  keepCollections(plan, options.collections ?? {}, before?.programs ?? {});
  const changed = contracts.filter((name) => before?.programs[name] !== programs[name]);
  if (before?.isComplete === true && changed.length === 0 && (await isUp(result))) return { ...result, wasUp: true };
  tell(before === undefined ? 'Creating a network' : 'Bringing the network up');
  writeMemory(data, { ...settings, inDocker, isComplete: false });
  await Promise.all(rolesOfContracts(plan, changed).map((role) => nodes.end(role)));
  await converge(result, tell);
  writeMemory(data, { ...settings, inDocker, isComplete: true });
  return { ...result, wasUp: false };
}

function isInDocker(before: NetworkMemory | undefined, { from }: FabricCommands): boolean {
  const inDocker = before?.inDocker ?? from === 'docker';
  if (inDocker && from !== 'docker')
    throw new DevnetError('This network runs in Docker. Recreate it with the commands: npm run fabric:up -- --fresh.');
  return inDocker;
}

/** The contract of this checkout, run from source. */
const ownContract = resolve(import.meta.dirname, '../../../apps/ledger-chaincode/src/main.ts');

const settingsOf = (options: UpOptions, before: NetworkMemory | undefined) => ({
  portBase: before?.portBase ?? options.portBase ?? defaultPortBase,
  batchTimeoutMs: before?.batchTimeoutMs ?? options.batchTimeoutMs ?? defaultBatchTimeoutMs,
  organizations: before?.organizations ?? options.organizations ?? 2,
  mutualTls: before?.mutualTls ?? options.mutualTls ?? false,
});

/** Addresses, batch timeout and members are in the genesis blocks, so they cannot change. */
function refuseOtherSettings(options: UpOptions, before: NetworkMemory | undefined): void {
  for (const [name, option] of [
    ['portBase', '--port-base'],
    ['batchTimeoutMs', '--batch-timeout'],
    ['organizations', '--organizations'],
    ['mutualTls', '--mutual-tls'],
  ] as const) {
    const asked = options[name];
    if (before !== undefined && asked !== undefined && asked !== before[name])
      throw new DevnetError(
        `This network was made ${before[name] === false ? `without ${option}` : `with ${option} ${before[name]}`}. Another value needs a new network: add --fresh.`,
      );
  }
}

/** Kills and removes the existing network, even if its network.json is invalid. */
async function forget({ data, env }: UpOptions): Promise<void> {
  let memory: NetworkMemory | undefined;
  try {
    memory = readMemory(data);
  } catch (error) {
    if (!(error instanceof DevnetError)) throw error;
  }
  const plan = networkPlan(data, { portBase: defaultPortBase, batchTimeoutMs: defaultBatchTimeoutMs, ...memory });
  const nodes = openNodes({ plan, commands: undefined, inDocker: memory?.inDocker ?? false, programs: {}, env });
  // Its data is removed, so no graceful stop is needed.
  await Promise.all(rolesOf(plan, contractsIn(memory?.programs)).map((role) => nodes.kill(role)));
  emptyFolder(data);
}

async function isUp({ plan, nodes, contracts }: Omit<UpResult, 'wasUp'>): Promise<boolean> {
  const running = await Promise.all(rolesOf(plan, contracts).map((role) => nodes.isRunning(role)));
  return running.every(Boolean) && (await canRead(plan));
}

const leadTimeoutMs = 30_000;
const commitTimeoutMs = 60_000;

async function converge({ plan, nodes, contracts }: Omit<UpResult, 'wasUp'>, tell: UpOptions['tell']): Promise<void> {
  await makeNetworkFiles(plan, nodes);
  tell('Starting the nodes and the contracts');
  await startRoles(plan, nodes, rolesOf(plan, contracts));
  tell('Joining the channels');
  const clients = plan.organizations.map((organization) => peerClient(nodes, organization));
  await joinChannels(plan, clients);
  tell('Approving and committing the contracts');
  const lifecycle: Lifecycle = { plan, clients };
  for (const contract of contracts) {
    await Promise.all(clients.map((client) => installContract(lifecycle, client, contract)));
    await Promise.all(plan.channels.map((channel) => commitContract(lifecycle, channel, contract)));
  }
  tell('Waiting until a transaction commits on every channel');
  await proveCommits(plan, commitTimeoutMs);
  writeConnectionFiles(plan);
}

async function joinChannels(plan: NetworkPlan, clients: readonly ReturnType<typeof peerClient>[]): Promise<void> {
  const orderer = ordererChannels(plan.orderer);
  await Promise.all(
    plan.channels.map(async (channel) => {
      if (await orderer.isServed(channel.name)) return;
      await orderer.join(channel);
      if (!(await waitUntil(() => orderer.isServed(channel.name), leadTimeoutMs)))
        throw new DevnetError(
          `The orderer does not serve the channel ${channel.name} after ${leadTimeoutMs / 1_000} seconds.`,
        );
    }),
  );
  await Promise.all(
    clients.map(async (client) => {
      const joined = await joinedChannels(client);
      for (const { name, blockFile } of plan.channels) if (!joined.includes(name)) await joinChannel(client, blockFile);
    }),
  );
}
