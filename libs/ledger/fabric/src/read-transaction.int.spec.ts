import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { FabricClient } from './fabric-client.ts';
import { UnavailableError } from './fabric-errors.ts';
import { readChannelTransaction } from './read-transaction.ts';
import { caught, write } from './testing/contract-calls.ts';
import { openTestFabric, type TestFabric } from './testing/open-test-fabric.ts';

let test: TestFabric;
let client: FabricClient;
beforeAll(async () => {
  test = await openTestFabric({ furtherOrganizations: ['Org2MSP'] });
  client = test.open();
}, 60_000);
afterEach(() => test.peer.faults.clear());
afterAll(() => test.close());

const hex = (text: string) => Buffer.from(text).toString('hex');

describe('a transaction of a channel', () => {
  it('is found by its id, with who wrote what', async () => {
    const id = randomUUID();
    const call = { ...write(id), organizations: ['Org1MSP', 'Org2MSP'] };
    const { transactionId, blockNumber } = await client.submit(call);
    expect(await readChannelTransaction(client, { channel: 'main' }, transactionId)).toEqual({
      transactionId,
      blockNumber,
      code: 'VALID',
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      creator: { mspId: 'Org1MSP', subject: 'O=Org1MSP, OU=client, CN=client' },
      endorsers: ['Org1MSP', 'Org2MSP'],
      chaincode: 'records',
      function: 'createMany',
      writes: [`i/${hex(id)}`, `r/${hex('asset')}/${hex(id)}`].map((key) => ({
        chaincode: 'records',
        key,
        isDelete: false,
      })),
    });
  });

  it('says why it has no effect', async () => {
    test.peer.faults.judge({ commit: 10 });
    const error = await caught(client.submit(write(randomUUID())));
    const { transactionId } = error as { transactionId: string };
    expect(await readChannelTransaction(client, { channel: 'main' }, transactionId)).toMatchObject({
      code: 'ENDORSEMENT_POLICY_FAILURE',
    });
  });

  it('is undefined for an id that is in no block, and never because nobody answers', async () => {
    expect(await readChannelTransaction(client, { channel: 'main' }, 'ab'.repeat(32))).toBeUndefined();
    test.peer.faults.inject('evaluate', { status: { code: 14, message: 'down' } });
    expect(await caught(readChannelTransaction(client, { channel: 'main' }, 'ab'.repeat(32)))).toBeInstanceOf(
      UnavailableError,
    );
  });
});
