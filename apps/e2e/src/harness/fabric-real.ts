import { openFaults, type NetworkFaults, type Role } from '@sealgate/fabric-devnet';
import type { FabricNetwork } from './fabric-network.ts';
import { ledgerReader } from './fabric-reader.ts';

export interface RealNetwork extends FabricNetwork {
  /** The second organisation: `mainChannel` needs its endorsement, `otherChannel` does not. */
  readonly secondOrganization: { kill(): Promise<void>; start(): Promise<void> };
  /** The peers of both organisations, the gateway peer first. */
  readonly bothPeers: FabricNetwork['connection']['peers'];
}

/** The real network that `fabric:up --with-basic` made in a folder; closing this leaves it running. */
export async function realNetwork(data: string): Promise<RealNetwork> {
  const faults = await openFaults({ data, env: process.env });
  const [north, south] = faults.plan.organizations;
  if (north === undefined || south === undefined) throw new Error('A network has two organisations.');
  const peers = [north, south].map(({ peer, domain }) => ({
    endpoint: `127.0.0.1:${peer.port}`,
    tlsCaFile: peer.tls.caFile,
    serverNameOverride: `peer.${domain}`,
  }));
  const { mspId, user } = north;
  const identity = { mspId, certFile: user.certFile, keyFile: user.keyFile };
  const reader = ledgerReader({
    url: peers[0]!.endpoint,
    tlsCaFile: peers[0]!.tlsCaFile,
    tlsName: peers[0]!.serverNameOverride,
    identity,
  });
  const still = new Set<Role>();
  const thaw = async (role: Role): Promise<void> => {
    still.delete(role);
    await faults.thaw(role);
  };
  const freezable = (roles: readonly Role[]) => ({
    freeze: async () => {
      for (const role of roles) {
        still.add(role);
        await faults.freeze(role);
      }
    },
    thaw: async () => void (await Promise.all(roles.map(thaw))),
  });
  return {
    title: 'a real network',
    mainChannel: 'both',
    otherChannel: 'either',
    connection: { ...identity, peers: peers.slice(0, 1) },
    bothPeers: peers,
    reader,
    peer: { ...killable(faults, ['peer-north']), ...freezable(['peer-north']) },
    secondOrganization: killable(faults, ['peer-south']),
    orderer: { ...killable(faults, ['orderer']), ...freezable(['orderer']) },
    contract: { ...killable(faults, contracts), ...freezable(contracts) },
    async mend() {
      await Promise.all([...still].map((role) => thaw(role)));
      await faults.mend();
    },
    async close() {
      reader.close();
    },
  };
}

const contracts: readonly Role[] = ['records-north', 'records-south'];

const killable = (faults: NetworkFaults, roles: readonly Role[]) => ({
  kill: async () => void (await Promise.all(roles.map((role) => faults.kill(role)))),
  start: async () => void (await Promise.all(roles.map((role) => faults.start(role)))),
});
