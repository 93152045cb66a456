import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { FabricClient } from './fabric-client.ts';
import { readChannelTrust } from './channel-trust.ts';
import { caught } from './testing/contract-calls.ts';
import { openTestFabric, type TestFabric } from './testing/open-test-fabric.ts';

let test: TestFabric;
let client: FabricClient;
beforeAll(async () => {
  test = await openTestFabric({ furtherOrganizations: ['Org2MSP'] });
  client = test.open();
}, 60_000);
afterAll(() => test.close());

describe('the trust file of a channel', () => {
  it('has the authorities and roles of its organisations, and the policy of a chaincode', async () => {
    const { organizations, ...trust } = await readChannelTrust(client, 'main', ['records', 'records']);
    expect(trust).toMatchObject({ v: 1, kind: 'fabric-trust', channel: 'main', configBlock: { number: 0 } });
    expect(trust.configBlock.hash).toMatch(/^[0-9a-f]{64}$/);
    expect(trust.chaincodes).toEqual([{ name: 'records', policy: { n: 1, of: [{ mspId: 'Org1MSP', role: 'peer' }] } }]);
    expect(organizations.map(({ mspId }) => mspId)).toEqual(['Org1MSP', 'Org2MSP']);
    for (const { roots, intermediates, revocationLists, units } of organizations) {
      expect(roots).toEqual([expect.stringMatching(/^-----BEGIN CERTIFICATE-----/)]);
      expect([intermediates, revocationLists]).toEqual([[], []]);
      expect(units).toMatchObject({ peer: { unit: 'peer' }, client: { unit: 'client' } });
    }
  });

  it('is refused for a chaincode that is not defined', async () => {
    expect(await caught(readChannelTrust(client, 'main', ['nowhere']))).toMatchObject({ name: 'ContractRefusedError' });
  });
});
