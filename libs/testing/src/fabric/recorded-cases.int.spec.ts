import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll } from '@jest/globals';
import { describeRecordedCases } from './fixtures/describe-recorded-cases.ts';
import type { FabricTarget } from './fixtures/index.ts';
import { startStandInPeer } from './start-stand-in-peer.ts';
import type { StandInPeer } from './stand-in-types.ts';

const program = join(import.meta.dirname, '../../../../apps/ledger-chaincode/src/main.ts');
const LIMIT = 60;
const MAX_BYTES = 100_000;

let peer: StandInPeer;
let target: FabricTarget;
beforeAll(async () => {
  peer = await startStandInPeer({
    chaincodes: [{ name: 'records', program }],
    concurrencyLimit: LIMIT,
    absoluteMaxBytes: MAX_BYTES,
  });
  const { url, tlsCaFile } = peer;
  const wrongKeyFile = join(peer.directory, 'wrong-key.pem');
  writeFileSync(wrongKeyFile, readFileSync(peer.enroll('other').keyFile));
  target = {
    channel: 'main',
    chaincode: 'records',
    member: { url, tlsCaFile, identity: peer.identity },
    stranger: { url, tlsCaFile, identity: peer.enroll('stranger', 'StrangerMSP') },
    wrongKey: { url, tlsCaFile, identity: { ...peer.identity, keyFile: wrongKeyFile } },
    absoluteMaxBytes: MAX_BYTES,
    concurrencyLimit: LIMIT,
    controls: {
      stopPeer: () => peer.stop(),
      startPeer: () => peer.start(),
      killChaincode: () => peer.chaincode.kill('records'),
      startChaincode: () => peer.chaincode.start('records'),
      freezeChaincode: async () => peer.chaincode.freeze('records'),
      thawChaincode: async () => peer.chaincode.thaw('records'),
      stopOrderer: async () => peer.orderer.stop(),
      startOrderer: async () => peer.orderer.start(),
      holdBlocks: async () => peer.orderer.hold(),
      releaseBlocks: async () => peer.orderer.release(),
    },
  };
}, 60_000);
afterAll(() => peer.close());

describeRecordedCases('the stand-in peer', () => target);
