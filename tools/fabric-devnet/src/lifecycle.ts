import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { contractPackage } from './contract-package.ts';
import type { ChannelPlan, NetworkPlan } from './network-plan.ts';
import { endorserFlags, ordererFlags, type PeerClient } from './peer-client.ts';

/** Constant: a changed program needs no new package, and ports are fixed for the life of the network. */
const version = '1';
const sequence = '1';

export interface Lifecycle {
  readonly plan: NetworkPlan;
  readonly clients: readonly PeerClient[];
}

/** Installs an organisation's package of a contract on its peer, unless it is installed. */
export async function installContract({ plan }: Lifecycle, client: PeerClient, contract: string): Promise<void> {
  const { file, id } = contractPackage(plan, contract, client.organization.name);
  const installed = await client.ask(
    ['lifecycle', 'chaincode', 'queryinstalled'],
    'peer lifecycle chaincode queryinstalled',
  );
  if (listOf(installed, 'installed_chaincodes').some((entry) => memberOf(entry, 'package_id') === id)) return;
  await client.run(['lifecycle', 'chaincode', 'install', file], 'peer lifecycle chaincode install');
}

/** Approves the definition for each organisation that has not, then commits it. Idempotent. */
export async function commitContract(
  { plan, clients }: Lifecycle,
  channel: ChannelPlan,
  contract: string,
): Promise<void> {
  const [first] = clients;
  if (first === undefined || (await isCommitted(first, channel, contract))) return;
  const definition = [
    ...['--channelID', channel.name, '--name', contract, '--version', version, '--sequence', sequence],
    ...['--signature-policy', channel.endorsementPolicy],
    ...collectionFlags(plan, contract),
  ];
  const readiness = await first.ask(
    ['lifecycle', 'chaincode', 'checkcommitreadiness', ...definition],
    'peer lifecycle chaincode checkcommitreadiness',
  );
  const approvals = memberOf(readiness, 'approvals');
  await Promise.all(
    clients
      .filter(({ organization }) => memberOf(approvals, organization.mspId) !== true)
      .map((client) => {
        const { id } = contractPackage(plan, contract, client.organization.name);
        return client.run(
          ['lifecycle', 'chaincode', 'approveformyorg', ...definition, '--package-id', id, ...ordererFlags(plan)],
          'peer lifecycle chaincode approveformyorg',
        );
      }),
  );
  await first.run(
    ['lifecycle', 'chaincode', 'commit', ...definition, ...ordererFlags(plan), ...endorserFlags(plan)],
    'peer lifecycle chaincode commit',
  );
}

/** Where the definition of a contract's private collections is kept: the definition cannot change. */
export const collectionsFile = ({ folders }: NetworkPlan, contract: string): string =>
  join(folders.collections, `${contract}.json`);

function collectionFlags(plan: NetworkPlan, contract: string): readonly string[] {
  const file = collectionsFile(plan, contract);
  return existsSync(file) ? ['--collections-config', file] : [];
}

async function isCommitted(client: PeerClient, channel: ChannelPlan, contract: string): Promise<boolean> {
  const committed = await client.ask(
    ['lifecycle', 'chaincode', 'querycommitted', '--channelID', channel.name],
    'peer lifecycle chaincode querycommitted',
  );
  return listOf(committed, 'chaincode_definitions').some((definition) => memberOf(definition, 'name') === contract);
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Object.getOwnPropertyDescriptor(value, name)?.value : undefined;
}

function listOf(value: unknown, name: string): readonly unknown[] {
  const list = memberOf(value, name);
  return Array.isArray(list) ? list : [];
}
