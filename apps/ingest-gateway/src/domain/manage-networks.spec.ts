import { describe, expect, it } from '@jest/globals';
import { AppError } from '@sealgate/errors';
import { changeNetwork, createNetwork, type NetworkPorts } from './manage-networks.ts';
import type { Network } from './network.ts';

const createdAt = '1970-01-01T00:00:00.000Z';

/** A ledger that holds only the channel main of acme, as a Fabric network holds its configured channels. */
function portsOf(known: Record<string, Network> = {}) {
  const done: string[] = [];
  const networks: NetworkPorts['networks'] = {
    async insert(network) {
      done.push(`insert ${network.networkId}`);
      return { ...network, createdAt };
    },
    find: async (networkId) => known[networkId],
    list: { count: async () => 0, rows: async () => [] },
    async update(networkId) {
      done.push(`update ${networkId}`);
      return known[networkId];
    },
    delete: async () => 'missing',
  };
  const ports: NetworkPorts = {
    networks,
    holdsChannel: async (channel) => channel === 'acme.main',
    openChannel: async (_network, channel) => void done.push(`open ${channel}`),
    countLiveKeys: async () => 0,
    countSources: async () => 0,
    now: () => 0,
  };
  return { ports, done };
}

const also = async () => undefined;
const network = (networkId: string, channels: string[]): Omit<Network, 'createdAt'> => ({
  networkId,
  name: null,
  channels,
  limits: null,
});

describe('a network that is stored while the ledger is away', () => {
  it('is not told as one that was not created or changed', async () => {
    const acme: Network = { ...network('acme', ['main']), createdAt };
    const { ports, done } = portsOf({ acme });
    const away: NetworkPorts = { ...ports, openChannel: () => Promise.reject(new AppError('UNAVAILABLE', 'Away.')) };
    const told = { code: 'OUTCOME_UNKNOWN' };
    await expect(createNetwork(away, network('acme', ['main']), also)).rejects.toMatchObject(told);
    await expect(changeNetwork(away, 'acme', { change: { name: 'Acme' }, also })).rejects.toMatchObject(told);
    expect(done).toEqual(['insert acme', 'update acme']);
  });
});

describe('a network whose channels the ledger does not hold', () => {
  it('is not created, and its id stays free', async () => {
    const { ports, done } = portsOf();
    await expect(createNetwork(ports, network('acme', ['main', 'other']), also)).rejects.toMatchObject({
      code: 'UNKNOWN_CHANNEL',
      faults: [{ in: 'body', pointer: '/channels/1' }],
    });
    expect(done).toEqual([]);
    await createNetwork(ports, network('acme', ['main']), also);
    expect(done).toEqual(['insert acme', 'open acme.main']);
  });

  it('is not changed into one; a missing network is reported first', async () => {
    const acme: Network = { ...network('acme', ['main']), createdAt };
    const { ports, done } = portsOf({ acme });
    const change = { channels: ['main', 'other'] };
    await expect(changeNetwork(ports, 'acme', { change, also })).rejects.toMatchObject({ code: 'UNKNOWN_CHANNEL' });
    await expect(changeNetwork(ports, 'nobody', { change, also })).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(done).toEqual([]);
    await changeNetwork(ports, 'acme', { change: { name: 'Acme' }, also });
    expect(done).toEqual(['update acme', 'open acme.main']);
  });
});
