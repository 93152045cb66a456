import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { AttestedCall } from '@sealgate/envelope';
import { common, ledger as ledgerProtos, peer as peerProtos } from '@hyperledger/fabric-protos';
import type { FabricClient } from './fabric-client.ts';
import { ChannelMap } from './channel-map.ts';
import { MisconfiguredError, UnavailableError } from './fabric-errors.ts';
import { proveFabricRecord } from './record-proof.ts';
import { caught, write } from './testing/contract-calls.ts';
import { openTestFabric, type TestFabric } from './testing/open-test-fabric.ts';

let test: TestFabric;
let client: FabricClient;
const channels = new ChannelMap([
  { name: 'main', holds: ['acme.main'] },
  { name: 'nowhere', holds: ['acme.nowhere'] },
]);
beforeAll(async () => {
  test = await openTestFabric({ furtherOrganizations: ['Org2MSP'] });
  client = test.open();
}, 60_000);
afterEach(() => test.peer.faults.clear());
afterAll(() => test.close());

const place = (id: string) => ({ channel: 'acme.main', chaincode: 'records', id });
const both = { organizations: ['Org1MSP', 'Org2MSP'] };
const signersOf = ({ responses }: AttestedCall) => responses.map(({ mspId }) => mspId);

/** The action that the first peer signed. */
function actionOf({ responses }: AttestedCall) {
  const payload = peerProtos.ProposalResponsePayload.deserializeBinary(Buffer.from(responses[0]!.payload, 'base64'));
  return peerProtos.ChaincodeAction.deserializeBinary(payload.getExtension_asU8());
}

describe('a proof of a record', () => {
  it('is signed by a peer of each organisation, and orders nothing', async () => {
    const id = randomUUID();
    const { transactionId, blockNumber } = await client.submit(write(id));
    const height = test.peer.channel('main').height();
    const { receipt, answer, proof } = (await proveFabricRecord({ client, channels }, { ...place(id), ...both }))!;
    const record = JSON.parse(answer.toString()) as { contentHash: string; at: string };
    expect(record).toMatchObject({ id, transactionId, data: { n: 1 } });
    const { contentHash, at } = record;
    expect(receipt).toEqual({
      ...{ network: 'acme', channel: 'acme.main', id, type: 'asset', owner: null, extra: null },
      ...{ version: 1, contentHash, transactionId, at },
    });
    expect(proof).toMatchObject({ v: 1, kind: 'fabric', channel: 'main', chaincode: 'records' });
    expect(signersOf(proof.view)).toEqual(['Org1MSP', 'Org2MSP']);
    expect(signersOf(proof.statement)).toEqual(['Org1MSP', 'Org2MSP']);
    expect(JSON.parse(Buffer.from(actionOf(proof.view).getResponse()!.getPayload_asU8()).toString())).toEqual(record);
    const processed = peerProtos.ProcessedTransaction.deserializeBinary(
      actionOf(proof.statement).getResponse()!.getPayload_asU8(),
    );
    expect(processed.getValidationcode()).toBe(0);
    // The version that was read names the block.
    const [readSet] = ledgerProtos.rwset.TxReadWriteSet.deserializeBinary(
      actionOf(proof.view).getResults_asU8(),
    ).getNsRwsetList();
    const reads = ledgerProtos.rwset.kvrwset.KVRWSet.deserializeBinary(readSet!.getRwset_asU8()).getReadsList();
    expect(reads.map((read) => read.getVersion()?.getBlockNum())).toEqual([blockNumber, blockNumber]);
    expect(proof.block).toBeUndefined();
    expect(test.peer.channel('main').height()).toBe(height);
    expect(test.peer.channel('main').pending()).toBe(0);
    expect(client.state().calls).toBe(0);
  });

  it('is signed by the organisations that discovery chooses if none are named', async () => {
    const id = randomUUID();
    await client.submit(write(id));
    const { proof } = (await proveFabricRecord({ client, channels }, place(id)))!;
    expect(signersOf(proof.view)).toEqual(['Org1MSP']);
    expect(signersOf(proof.statement)).toEqual(['Org1MSP']);
  });

  it('has the block of the transaction on request', async () => {
    const id = randomUUID();
    const { blockNumber } = await client.submit(write(id));
    const { proof } = (await proveFabricRecord({ client, channels }, place(id), { withBlock: true }))!;
    const block = common.Block.deserializeBinary(Buffer.from(proof.block!, 'base64'));
    expect(block.getHeader()!.getNumber()).toBe(blockNumber);
  });

  it('is missing for a record that is not there', async () => {
    expect(await proveFabricRecord({ client, channels }, { ...place(randomUUID()), ...both })).toBeUndefined();
  });

  it('is unavailable while an organisation has no peer', async () => {
    const id = randomUUID();
    await client.submit(write(id));
    const proved = proveFabricRecord({ client, channels }, { ...place(id), organizations: ['Org1MSP', 'Org3MSP'] });
    expect(await caught(proved)).toMatchObject({ name: 'UnavailableError', reason: 'endorsers_away' });
  }, 15_000);

  it('is unavailable while the peers do not answer, and refused for a channel that is not there', async () => {
    const id = randomUUID();
    await client.submit(write(id));
    test.peer.faults.inject('endorse', { status: { code: 14, message: 'down' } });
    expect(await caught(proveFabricRecord({ client, channels }, place(id)))).toBeInstanceOf(UnavailableError);
    test.peer.faults.clear();
    const elsewhere = proveFabricRecord({ client, channels }, { ...place(id), channel: 'acme.nowhere' });
    expect(await caught(elsewhere)).toBeInstanceOf(MisconfiguredError);
    expect(client.state().calls).toBe(0);
  }, 15_000);
});
