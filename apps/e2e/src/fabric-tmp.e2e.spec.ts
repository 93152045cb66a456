import { it, expect } from '@jest/globals';
import { startStandInPeer } from '@sealgate/testing/fabric';
import { programOf } from './harness/bundle.ts';
import { judgeAssets } from './harness/asset-judge.ts';
import { startAssetLoad } from './harness/asset-load.ts';
import { ledgerReader } from './harness/fabric-reader.ts';
import { fabricStage } from './harness/fabric-stage.ts';
it('judge can fail', async () => {
  const n = await startStandInPeer({ chaincodes: [{ name: 'records', program: programOf('ledger-chaincode', 'main') }], channels: ['main', 'other'] });
  const { url, tlsCaFile, identity } = n;
  const network: any = { mainChannel: 'main', otherChannel: 'other', connection: { ...identity, peers: [{ endpoint: url, tlsCaFile }] }, reader: ledgerReader({ url, tlsCaFile, identity }) };
  const stage = await fabricStage(network);
  try {
    const prefix = `${stage.tag}-x-`;
    n.faults.judge({ blocks: 10, times: 1 });
    const load = startAssetLoad({ setup: stage.setup, senders: 4, prefix });
    await load.written(20);
    const fates = await load.finish();
    await stage.settled();
    console.log(fates.filter((f) => f.told !== 'written').length, fates.length);
    await expect(judgeAssets(stage, prefix, fates)).rejects.toThrow();
  } finally { await stage.stop(); await n.close(); }
}, 120000);
