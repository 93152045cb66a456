import { devNull } from 'node:os';
import { describe, expect, it } from '@jest/globals';
import type { RealNetwork } from '../harness/fabric-real.ts';
import type { KeptRecord } from '../harness/fabric-reader.ts';
import { fabricRecords } from './fabric.ts';
import { acknowledgedWrites } from './judge/acknowledged-writes.ts';
import { judge, type LedgerRecord } from './judge/index.ts';
import { KeyedWrites } from './judge/keyed-writes.ts';
import { asked, verdictOf } from './judge/testing/lines.ts';

const kept = (id: string, type: string, members: Partial<KeptRecord> = {}): KeptRecord => ({
  ...{ id, type, owner: null, data: { n: 1, a: 2 }, extra: null, version: 1, transactionId: `tx of ${id}` },
  ...members,
});

/** A network that holds these records on its two channels. */
const networkOf = (main: readonly KeptRecord[], other: readonly KeptRecord[]): RealNetwork =>
  ({
    mainChannel: 'both',
    otherChannel: 'either',
    reader: {
      list: (channel: string) =>
        Promise.resolve(new Map((channel === 'both' ? main : other).map((one) => [one.id, one]))),
    },
  }) as unknown as RealNetwork;

const network = networkOf(
  [kept('acme.main/a', 'acme.main/asset'), kept('acme.main/health', 'acme.main/probe')],
  [kept('b', 'other'), kept('health', 'probe')],
);

const synced = (id: string, type: string, channel: string) => {
  const transactions = [
    { channel, transactionId: `tx of ${channel === 'acme.main' ? `acme.main/${id}` : id}`, assetIds: [id] },
  ];
  const text = JSON.stringify({ succeeded: [id], failed: [], pending: [], transactions });
  const body = JSON.stringify({ assets: [{ id, type, data: { a: 2, n: 1 } }] });
  return asked({ surface: 'ledger-peer', act: 'sync', key: id, status: 200, text, sent: { body } });
};
const lines = [synced('a', 'asset', 'acme.main'), synced('b', 'other', 'acme.other')];

async function all(records: AsyncIterable<LedgerRecord>): Promise<readonly LedgerRecord[]> {
  const found: LedgerRecord[] = [];
  for await (const record of records) found.push(record);
  return found;
}

async function brokenOn(ofNetwork: RealNetwork): Promise<readonly string[]> {
  const writes = new KeyedWrites();
  const check = { line: writes.line.bind(writes), ...acknowledgedWrites(writes) };
  return (await verdictOf(check, lines, await all(fabricRecords(ofNetwork)))).broken;
}

describe('what is in a Fabric network', () => {
  it('is read by our channels and ids, without what the network wrote itself', async () => {
    const records = await all(fabricRecords(network));
    const shown = records.map(({ channel, index, id, type, data }) => [channel, index, id, type, data]);
    expect(shown).toEqual([
      ['acme.main', 0, 'a', 'asset', '{"a":2,"n":1}'],
      ['acme.other', 0, 'b', 'other', '{"a":2,"n":1}'],
    ]);
  });

  it('keeps what was acknowledged, and breaks it by a loss, a second version, other content or another transaction', async () => {
    expect(await brokenOn(network)).toEqual([]);
    const b = kept('b', 'other');
    const a = kept('acme.main/a', 'acme.main/asset');
    expect(await brokenOn(networkOf([a], []))).toEqual([
      'line 2: the asset acme.other b was acknowledged and is not there',
    ]);
    expect(await brokenOn(networkOf([{ ...a, version: 2 }], [b]))).toEqual([
      'line 1: its record is there twice, again at acme.main/1',
    ]);
    expect(await brokenOn(networkOf([{ ...a, data: { n: 2 } }], [b]))).toHaveLength(1);
    expect(await brokenOn(networkOf([a], [{ ...b, transactionId: 'tx' }]))).toHaveLength(1);
    expect(await brokenOn(networkOf([a], [b, kept('c', 'other')]))).toEqual([
      'acme.other/1 (c) is a record that nobody sent, or a second one',
    ]);
  });

  it('is judged beside what is in the databases, and has no tree', async () => {
    const verdicts = await judge({ historyFile: devNull, databases: {}, records: fabricRecords(network) });
    expect(verdicts.flatMap(({ broken }) => broken)).toEqual([]);
  });
});
