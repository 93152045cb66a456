import { describe, expect, it } from '@jest/globals';
import { common } from '@hyperledger/fabric-protos';
import { failureOf, standInSuite } from './testing/stand-in-suite.ts';

const suite = standInSuite();

describe('the query system chaincode', () => {
  it('returns the height of the channel', async () => {
    const system = suite.client.gateway.getNetwork('main').getContract('qscc');
    const info = common.BlockchainInfo.deserializeBinary(await system.evaluateTransaction('GetChainInfo', 'main'));
    expect(info.getHeight()).toBe(suite.peer.channel('main').height());
  });

  it('refuses other functions', async () => {
    const system = suite.client.gateway.getNetwork('main').getContract('qscc');
    expect(await failureOf(system.evaluateTransaction('Nothing'))).toMatchObject({ code: 2 });
  });
});
