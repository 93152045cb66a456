import { DevnetError } from './devnet-error.ts';
import type { NetworkPlan, OrganizationPlan } from './network-plan.ts';
import type { Nodes } from './compose-nodes.ts';

/** Fabric's `peer` command as one organisation's admin, for that organisation's peer. */
export interface PeerClient {
  readonly organization: OrganizationPlan;
  run(parameters: readonly string[], title: string): Promise<string>;
  /** Runs a query with `--output json` and returns the parsed output. */
  ask(parameters: readonly string[], title: string): Promise<unknown>;
}

export function peerClient(nodes: Nodes, organization: OrganizationPlan): PeerClient {
  const env = {
    FABRIC_CFG_PATH: organization.peer.configFolder,
    CORE_PEER_MSPCONFIGPATH: organization.admin.mspFolder,
    FABRIC_LOGGING_SPEC: 'error',
  };
  const run: PeerClient['run'] = (parameters, title) =>
    nodes.run('peer', parameters, { env, title: `${title} (${organization.name})`, timeoutMs: 90_000 });
  return {
    organization,
    run,
    ask: async (parameters, title) => {
      const printed = await run([...parameters, '--output', 'json'], title);
      try {
        return JSON.parse(printed);
      } catch (cause) {
        throw new DevnetError(`${title} (${organization.name}) did not print JSON: ${printed.slice(0, 200)}`, {
          cause,
        });
      }
    },
  };
}

/** Flags of a command that needs the orderer. */
export const ordererFlags = ({ orderer }: NetworkPlan): readonly string[] => [
  ...['--orderer', `127.0.0.1:${orderer.port}`, '--tls', '--cafile', orderer.tls.caFile],
];

/** Flags of a command that needs every organisation's endorsement. */
export const endorserFlags = ({ organizations }: NetworkPlan): readonly string[] =>
  organizations.flatMap(({ peer }) => [
    ...['--peerAddresses', `127.0.0.1:${peer.port}`, '--tlsRootCertFiles', peer.tls.caFile],
  ]);

/** The channels that the peer has joined. */
export async function joinedChannels(client: PeerClient): Promise<readonly string[]> {
  const printed = await client.run(['channel', 'list'], 'peer channel list');
  // A title line, then one name per line.
  return printed.split('\n').map((line) => line.trim());
}

export async function joinChannel(client: PeerClient, blockFile: string): Promise<void> {
  await client.run(['channel', 'join', '--blockpath', blockFile], 'peer channel join');
}
