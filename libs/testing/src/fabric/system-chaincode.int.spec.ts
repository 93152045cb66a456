import { describe, expect, it } from '@jest/globals';
import { common, peer } from '@hyperledger/fabric-protos';
import { failureOf, record, standInSuite } from './testing/stand-in-suite.ts';

const suite = standInSuite({ furtherOrganizations: ['Org2MSP'] });
const system = (name: string) => suite.client.gateway.getNetwork('main').getContract(name);

async function written(): Promise<string> {
  const commit = await suite.records.submitAsync('createMany', { arguments: [record()] });
  await commit.getStatus();
  return commit.getTransactionId();
}

describe('the query system chaincode', () => {
  it('returns the height of the channel', async () => {
    const info = common.BlockchainInfo.deserializeBinary(
      await system('qscc').evaluateTransaction('GetChainInfo', 'main'),
    );
    expect(info.getHeight()).toBe(suite.peer.channel('main').height());
  });

  it('returns a transaction with its validation code, and its block', async () => {
    const transactionId = await written();
    const processed = peer.ProcessedTransaction.deserializeBinary(
      await system('qscc').evaluateTransaction('GetTransactionByID', 'main', transactionId),
    );
    expect(processed.getValidationcode()).toBe(0);
    const block = common.Block.deserializeBinary(
      await system('qscc').evaluateTransaction('GetBlockByTxID', 'main', transactionId),
    );
    const [envelope] = block.getData()!.getDataList_asU8();
    expect(Buffer.from(processed.getTransactionenvelope()!.serializeBinary())).toEqual(Buffer.from(envelope!));
  });

  it('is endorsed by the organisations that a client names, and by none of its own choice', async () => {
    const transactionId = await written();
    const call = { arguments: ['main', transactionId] };
    const named = system('qscc').newProposal('GetTransactionByID', {
      ...call,
      endorsingOrganizations: ['Org1MSP', 'Org2MSP'],
    });
    expect((await named.endorse()).getResult().length).toBeGreaterThan(0);
    const unnamed = system('qscc').newProposal('GetTransactionByID', call);
    expect(await failureOf(unnamed.endorse())).toMatchObject({ code: 9 });
  });

  it('refuses other functions, and transactions that it does not have', async () => {
    expect(await failureOf(system('qscc').evaluateTransaction('Nothing'))).toMatchObject({ code: 2 });
    const absent = await failureOf(system('qscc').evaluateTransaction('GetTransactionByID', 'main', 'ab'));
    expect(absent).toMatchObject({
      code: 2,
      details: [{ message: expect.stringContaining('no such transaction ID') }],
    });
  });
});

describe('the configuration of a channel', () => {
  it('has the organisations', async () => {
    const bytes = await system('cscc').evaluateTransaction('GetConfigBlock', 'main');
    const [envelope] = common.Block.deserializeBinary(bytes).getData()!.getDataList_asU8();
    const payload = common.Payload.deserializeBinary(common.Envelope.deserializeBinary(envelope!).getPayload_asU8());
    const config = common.ConfigEnvelope.deserializeBinary(payload.getData_asU8()).getConfig();
    const application = config?.getChannelGroup()?.getGroupsMap().get('Application');
    expect(
      application
        ?.getGroupsMap()
        .getEntryList()
        .map(([mspId]: readonly [string, unknown]) => mspId),
    ).toEqual(['Org1MSP', 'Org2MSP']);
  });

  it('has the definition of a chaincode', async () => {
    const args = new peer.lifecycle.QueryChaincodeDefinitionArgs();
    const asked = async (name: string) => {
      args.setName(name);
      return system('_lifecycle').evaluate('QueryChaincodeDefinition', { arguments: [args.serializeBinary()] });
    };
    const defined = peer.lifecycle.QueryChaincodeDefinitionResult.deserializeBinary(await asked('records'));
    const policy = common.ApplicationPolicy.deserializeBinary(defined.getValidationParameter_asU8());
    expect(policy.hasSignaturePolicy()).toBe(true);
    expect(await failureOf(asked('nowhere'))).toMatchObject({ code: 2 });
  });
});
