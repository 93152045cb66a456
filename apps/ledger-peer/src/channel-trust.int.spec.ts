import { expect, it } from '@jest/globals';
import { trustReader } from './data/fabric-assets.ts';
import { channelTrust } from './domain/channel-trust.ts';
import { fabricSuite } from './testing/fabric-suite.ts';

const suite = fabricSuite();
const trustOf = (channel: string) =>
  channelTrust({ readTrust: trustReader(suite.client, suite.channels), mappings: suite.mappings }, channel);

it('is made of the configuration of the Fabric channel that stores a mapped channel', async () => {
  const trust = await trustOf('acme.kept');
  expect(trust).toMatchObject({ v: 1, kind: 'fabric-trust', channel: 'shared' });
  expect(trust.organizations.map(({ mspId }) => mspId)).toEqual(['Org1MSP', 'Org2MSP']);
  expect(trust.chaincodes.map(({ name }) => name)).toEqual(['records']);
});

it('is not there for channels that no mapping of our contract serves', async () => {
  for (const channel of ['acme.other', 'shared', ''])
    await expect(trustOf(channel)).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

it('is refused if a mapped contract is not defined on the channel, and unavailable without a peer', async () => {
  await expect(trustOf('acme.main')).rejects.toMatchObject({ code: 'CONTRACT_REFUSED' });
  suite.peer.faults.inject('evaluate', { status: { code: 14, message: 'down' } });
  await expect(trustOf('acme.kept')).rejects.toMatchObject({ code: 'LEDGER_UNAVAILABLE' });
}, 20_000);
