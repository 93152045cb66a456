import { resolve } from 'node:path';
import { startStandInPeer } from '@sealgate/testing/fabric';
import { programOf } from './bundle.ts';
import type { FabricNetwork } from './fabric-network.ts';
import { ledgerReader } from './fabric-reader.ts';

const basicAssets = resolve(import.meta.dirname, '../../../ledger-chaincode/test/basic-assets/main.ts');

/** The block time of a small real network, so that transactions share blocks. */
const BATCH_TIMEOUT_MS = 50;

/** The stand-in peer with our built contract, and a third-party one. */
export async function standInNetwork(): Promise<FabricNetwork> {
  const network = await startStandInPeer({
    chaincodes: [
      { name: 'records', program: programOf('ledger-chaincode', 'main') },
      { name: 'basic', program: basicAssets },
    ],
    channels: ['main', 'other'],
    batchTimeoutMs: BATCH_TIMEOUT_MS,
  });
  const { url, tlsCaFile, identity, orderer, chaincode } = network;
  const reader = ledgerReader({ url, tlsCaFile, identity });
  const undone = new Set<() => Promise<void>>();
  /** A fault that `mend` undoes where the story has not. */
  const fault = (strike: () => unknown, heal: () => unknown) => {
    const undo = async (): Promise<void> => {
      undone.delete(undo);
      await heal();
    };
    return {
      strike: async (): Promise<void> => {
        undone.add(undo);
        await strike();
      },
      undo,
    };
  };
  const peer = fault(
    () => network.stop(),
    () => network.start(),
  );
  const peerStill = fault(
    () => {
      network.blockStreams.hold();
      for (const kind of ['evaluate', 'endorse', 'submit', 'commitStatus'] as const)
        network.faults.inject(kind, { drop: 'before' });
    },
    () => {
      network.faults.clear();
      network.blockStreams.release();
    },
  );
  // Transactions that it had acknowledged and not yet put into a block are lost with it.
  const ordererAway = fault(
    () => {
      orderer.hold();
      orderer.stop();
      orderer.forget();
    },
    () => {
      orderer.release();
      orderer.start();
    },
  );
  const ordererStill = fault(orderer.hold, orderer.release);
  const contractAway = fault(
    () => chaincode.kill('records'),
    () => chaincode.start('records'),
  );
  const contractStill = fault(
    () => chaincode.freeze('records'),
    () => chaincode.thaw('records'),
  );
  return {
    title: 'the stand-in',
    mainChannel: 'main',
    otherChannel: 'other',
    connection: { ...identity, peers: [{ endpoint: url, ...(tlsCaFile === undefined ? {} : { tlsCaFile }) }] },
    reader,
    peer: { kill: peer.strike, start: peer.undo, freeze: peerStill.strike, thaw: peerStill.undo },
    orderer: {
      kill: ordererAway.strike,
      start: ordererAway.undo,
      freeze: ordererStill.strike,
      thaw: ordererStill.undo,
    },
    contract: {
      kill: contractAway.strike,
      start: contractAway.undo,
      freeze: contractStill.strike,
      thaw: contractStill.undo,
    },
    async mend() {
      for (const undo of [...undone]) await undo();
    },
    async close() {
      reader.close();
      await network.close();
    },
  };
}
