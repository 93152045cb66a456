import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { startStandInPeer, type StandInPeer } from '@sealgate/testing/fabric';
import { programOf } from './bundle.ts';
import { peerSetup, type PeerSetup } from './peer-setup.ts';

const basicAssets = resolve(import.meta.dirname, '../../../ledger-chaincode/test/basic-assets/main.ts');

/** A ledger peer on the stand-in network. */
export interface FabricPeer {
  readonly network: StandInPeer;
  readonly setup: PeerSetup;
  stop(): Promise<void>;
}

/** Starts both: our contract on two channels of Fabric, and a third-party one. The default channel is `acme.main`. */
export async function fabricPeer(mapping: { readonly mappings: readonly object[] }): Promise<FabricPeer> {
  const folder = mkdtempSync(join(tmpdir(), 'sealgate-e2e-fabric-'));
  const network = await startStandInPeer({
    chaincodes: [
      { name: 'records', program: programOf('ledger-chaincode', 'main') },
      { name: 'basic', program: basicAssets, collections: ['pins'] },
    ],
    channels: ['main', 'shared'],
  });
  const stopNetwork = async (): Promise<void> => {
    await network.close();
    rmSync(folder, { recursive: true, force: true });
  };
  const { mspId, certFile, keyFile } = network.identity;
  const connection = {
    mspId,
    certFile,
    keyFile,
    peers: [{ endpoint: network.url, ...(network.tlsCaFile === undefined ? {} : { tlsCaFile: network.tlsCaFile }) }],
    channels: [
      { name: 'main', holds: ['acme.main'] },
      { name: 'shared', holds: ['*'] },
    ],
    deadlinesMs: { evaluate: 2000, endorse: 2000, submit: 1000, commitStatus: 1000, answer: 3000 },
  };
  writeFileSync(join(folder, 'fabric.json'), JSON.stringify(connection));
  writeFileSync(join(folder, 'mapping.json'), JSON.stringify(mapping));
  try {
    const setup = await peerSetup({
      env: {
        LEDGER_DRIVER: 'fabric',
        FABRIC_CONFIG: join(folder, 'fabric.json'),
        MAPPING_FILE: join(folder, 'mapping.json'),
        LEDGER_NETWORK: 'acme',
        LEDGER_CHANNEL: 'acme.main',
        LEDGER_INTEGRATOR: undefined,
        LEDGER_SIGNING_KEY: undefined,
      },
    });
    return { network, setup, stop: () => setup.stop().finally(stopNetwork) };
  } catch (error) {
    await stopNetwork();
    throw error;
  }
}
