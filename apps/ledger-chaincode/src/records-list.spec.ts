import { beforeEach, describe, expect, it } from '@jest/globals';
import { MemoryLedger } from '../test/memory-stub.ts';
import { RecordsContract } from './records-contract.ts';

const contract = new RecordsContract();
let ledger: MemoryLedger;
beforeEach(() => {
  ledger = new MemoryLedger();
});

const record = (id: string, changes: object = {}) => ({
  id,
  type: 'note',
  owner: null,
  data: '{"n":1}',
  extra: null,
  ...changes,
});
const createMany = (...records: object[]) =>
  ledger.submit((context) => contract.createMany(context, JSON.stringify(records)));
const upsertMany = (...records: object[]) =>
  ledger.submit((context) => contract.upsertMany(context, JSON.stringify(records)));

describe('list', () => {
  const list = (prefix: string, pageSize: string, bookmark: string) =>
    ledger.submit((context) => contract.list(context, prefix, pageSize, bookmark));
  const idsOf = async (prefix: string, pageSize: number, bookmark: string) => {
    const answer = JSON.parse(await list(prefix, String(pageSize), bookmark)) as {
      records: { id: string }[];
      bookmark: string;
    };
    return [answer.records.map(({ id }) => id), answer.bookmark];
  };

  it('pages over ids with the prefix, of all types', async () => {
    await createMany(record('a/2'), record('a/1', { type: 'other' }), record('b'), record('a'), record('a/\u{10ffff}'));
    expect(await idsOf('', 10, '')).toEqual([['a', 'a/1', 'a/2', 'a/\u{10ffff}', 'b'], '']);
    expect(await idsOf('a/', 2, '')).toEqual([['a/1', 'a/2'], 'a/2']);
    expect(await idsOf('a/', 2, 'a/2')).toEqual([['a/\u{10ffff}'], '']);
    expect(await idsOf('c', 2, '')).toEqual([[], '']);
  });

  it('returns only the newest version of a record whose type changed', async () => {
    await createMany(record('a'));
    await upsertMany(record('a', { type: 'other' }));
    expect(JSON.parse(await list('', '5', ''))).toMatchObject({ records: [{ id: 'a', type: 'other', version: 2 }] });
  });

  it('rejects invalid pages', async () => {
    await expect(list('', '0', '')).rejects.toThrow(/^INVALID_REQUEST:/);
    // A bookmark of another prefix would start outside of this one.
    await expect(list('b', '1', 'a')).rejects.toThrow(/bookmark does not begin with prefix/);
    await expect(list('\u0000', '1', '')).rejects.toThrow(/^INVALID_REQUEST:/);
  });
});
