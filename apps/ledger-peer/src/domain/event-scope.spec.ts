import { describe, expect, it } from '@jest/globals';
import { MAPPING } from '../testing/fabric-mapping.ts';
import { eventScope } from './event-scope.ts';
import type { SourceEvent } from './ledger-event.ts';
import { parseMappings } from './parse-mappings.ts';

const mappings = parseMappings(JSON.stringify(MAPPING), { driver: 'fabric', defaultChannel: undefined });
const event = (more: Partial<SourceEvent>): SourceEvent => ({
  kind: 'commit',
  position: { block: 1, index: 0 },
  blockNumber: 1,
  transactionId: 't',
  chaincode: 'records',
  code: 'VALID',
  at: undefined,
  assets: undefined,
  ...more,
});
const channel = 'acme.main';
const assets = [
  { id: '1', type: 'ours.a' },
  { id: '2', type: 'theirs' },
  { id: '3', type: 'ours.b' },
  { id: '4', type: 'kept.x' },
];

describe('what a reader sees of the events of a channel', () => {
  it('is the assets of types that a mapping to this channel serves', () => {
    const scope = eventScope(mappings, { channel });
    expect(scope(event({ assets }))?.assets).toEqual([assets[0], assets[2]]);
    expect(scope(event({ assets: [assets[1]!, assets[3]!] }))).toBeUndefined();
    expect(scope(event({ assets: [] }))).toBeUndefined();
  });

  it('is the assets of the wanted types alone', () => {
    const scope = eventScope(mappings, { channel, types: ['ours.b'] });
    expect(scope(event({ assets }))?.assets).toEqual([assets[2]]);
    expect(scope(event({ assets: [assets[0]!] }))).toBeUndefined();
  });

  it('is, of a third-party contract whose assets are not known, what its mapped chaincode did', () => {
    const unknown = event({ chaincode: 'basic' });
    expect(eventScope(mappings, { channel })(unknown)).toBe(unknown);
    expect(eventScope(mappings, { channel, types: ['vehicle'] })(unknown)).toBe(unknown);
    expect(eventScope(mappings, { channel, types: ['ours.a'] })(unknown)).toBeUndefined();
    expect(eventScope(mappings, { channel })(event({ chaincode: 'other' }))).toBeUndefined();
    // Our own contract names its assets: what names none is of another channel, or has written nothing.
    expect(eventScope(mappings, { channel })(event({ chaincode: 'records' }))).toBeUndefined();
  });

  it('is the wanted kinds alone', () => {
    const scope = eventScope(mappings, { channel, kinds: ['contract'] });
    expect(scope(event({ assets }))).toBeUndefined();
    expect(scope(event({ kind: 'contract', assets }))).toBeDefined();
  });

  it('is nothing of a channel, or a type of a channel, that no mapping serves', () => {
    const refused = (filter: Parameters<typeof eventScope>[1]) => () => eventScope(mappings, filter);
    expect(refused({ channel: 'acme.other' })).toThrow(expect.objectContaining({ code: 'UNKNOWN_CHANNEL' }));
    for (const type of ['kept.x', 'nothing'])
      expect(refused({ channel, types: [type] })).toThrow(expect.objectContaining({ code: 'UNKNOWN_CHAINCODE' }));
  });
});
