import { describe, expect, it } from '@jest/globals';
import { LedgerUnavailableError } from '@sealgate/ledger-port';
import { ChannelMap } from './channel-map.ts';

const map = new ChannelMap([
  { name: 'own', holds: ['acme.main'] },
  { name: 'network', holds: ['acme.*', 'beta.*'] },
  { name: 'rest', holds: ['*'] },
]);

describe('mapping our channels to Fabric channels', () => {
  it.each([
    ['acme.main', { fabricChannel: 'own', prefix: '' }],
    ['acme.other', { fabricChannel: 'network', prefix: 'acme.other/' }],
    ['beta.main', { fabricChannel: 'network', prefix: 'beta.main/' }],
    ['gamma.main', { fabricChannel: 'rest', prefix: 'gamma.main/' }],
  ])('%s', (channel, place) => {
    expect(map.of(channel)).toEqual(place);
  });

  it.each([['acme'], ['acme.'], ['.main'], ['acme.main/x'], ['ACME.main'], ['*'], ['acme.*']])(
    'rejects %s',
    (channel) => {
      expect(() => map.of(channel.replace('*', ' '))).toThrow(LedgerUnavailableError);
    },
  );

  it('finds none if no Fabric channel holds it', () => {
    expect(new ChannelMap([{ name: 'own', holds: ['acme.main'] }]).find('acme.other')).toBeUndefined();
  });
});
