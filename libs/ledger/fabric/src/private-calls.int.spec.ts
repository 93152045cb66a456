import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { FabricClient } from './fabric-client.ts';
import { caught, read, write } from './testing/contract-calls.ts';
import { openTestFabric, type TestFabric } from './testing/open-test-fabric.ts';

/** The client is of Org1MSP, and has failed over to the gateway peer of another organisation. */
describe('private data through the gateway peer of another organisation', () => {
  let test: TestFabric;
  let client: FabricClient;
  beforeAll(async () => {
    test = await openTestFabric({ peerMspId: 'Org2MSP', furtherOrganizations: ['Org1MSP'] });
    client = test.open();
  }, 60_000);
  afterAll(async () => {
    await client?.close();
    await test?.close();
  });

  const endorsersOf = async (more: object) => {
    const { transactionId } = await client.submit({ ...write(randomUUID()), ...more });
    const all = test.peer.channel('main').transactions();
    return all.find((one) => one.transactionId === transactionId)?.endorsers;
  };

  it("goes to the caller's own organisation, and other calls to whom the gateway peer chooses", async () => {
    expect(await endorsersOf({ transient: { pin: '1234' } })).toEqual(['Org1MSP']);
    expect(await endorsersOf({})).toEqual(['Org2MSP']);
  });

  it('goes to those that the call names', async () => {
    const organizations = ['Org2MSP', 'Org1MSP'];
    expect(await endorsersOf({ transient: { pin: '1234' }, organizations })).toEqual(organizations);
  });
});

describe("private data while no peer of the caller's organisation is there", () => {
  let test: TestFabric;
  let client: FabricClient;
  beforeAll(async () => {
    test = await openTestFabric({ peerMspId: 'Org2MSP' });
    client = test.open();
  }, 60_000);
  afterAll(async () => {
    await client?.close();
    await test?.close();
  });

  it('is neither sent to nor read from another one', async () => {
    await client.submit(write('public'));
    const height = test.peer.channel('main').height();
    const sent = await caught(client.submit({ ...write(randomUUID()), transient: { pin: '1234' } }));
    expect(sent).toMatchObject({ message: expect.stringContaining('endorsing peers for org(s): Org1MSP') });
    const asked = await caught(client.evaluate({ ...read('public'), isPrivate: true }));
    expect(asked).toMatchObject({
      message: expect.stringMatching(/^no peer of Org1MSP .*: no peers available to evaluate/),
      reason: 'endorsers_away',
    });
    expect((await client.evaluate(read('public'))).length).toBeGreaterThan(0);
    expect(test.peer.channel('main').height()).toBe(height);
  });
});
