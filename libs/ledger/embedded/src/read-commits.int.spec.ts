import { describe, expect, it } from '@jest/globals';
import { eachWithArchive, record, SIZE, type TestArchive } from './testing/open-test-archive.ts';

let of: TestArchive;
eachWithArchive((parts) => ({ of } = parts));

const ids = (from: number, until: number) => Array.from({ length: until - from }, (_, n) => `r${from + n}`);
const shapeOf = (commits: Awaited<ReturnType<TestArchive['ledger']['commits']>>) =>
  commits.map(({ first, records }) => ({ first, ids: records.map(({ id }) => id) }));

describe('the transactions of a channel', () => {
  it('are told in order, each with all of its new records and without content', async () => {
    const commits = await of.ledger.commits(of.channel, 0);
    // The second transaction had an existing record, which it did not write.
    expect(shapeOf(commits)).toEqual([
      { first: 0, ids: ids(0, 600) },
      { first: 600, ids: ids(600, SIZE) },
    ]);
    expect(commits[0]?.records.slice(0, 2)).toEqual([
      { id: 'r0', type: 'order' },
      { id: 'r1', type: 'asset' },
    ]);
    const stored = await of.ledger.read(of.channel, 'r0');
    expect(commits[0]).toMatchObject({ transactionId: stored?.transactionId, at: stored?.at });
  });

  it('are told from a position on, and are none at the end or in an unknown channel', async () => {
    expect(shapeOf(await of.ledger.commits(of.channel, 600))).toEqual([{ first: 600, ids: ids(600, SIZE) }]);
    expect(await of.ledger.commits(of.channel, SIZE)).toEqual([]);
    expect(await of.ledger.commits('acme.none', 0)).toEqual([]);
  });

  it('are told from the archive without a time, across the border of files and table', async () => {
    const before = await of.ledger.commits(of.channel, 0);
    await of.ledger.archiveRecords({ channel: of.channel, before: 512 });
    const after = await of.without.commits(of.channel, 0);
    expect(after).toEqual([{ ...before[0], at: undefined }, before[1]]);
  });

  it('are whole, however many there are: a page never ends within one', async () => {
    await of.ledger.append(of.unit(Array.from({ length: 1000 }, (_, n) => record(SIZE + n))));
    await of.ledger.append(of.unit(Array.from({ length: 1000 }, (_, n) => record(SIZE + 1000 + n))));
    const first = await of.ledger.commits(of.channel, 0);
    expect(first.map(({ records }) => records.length)).toEqual([600, 100, 1000]);
    const next = await of.ledger.commits(of.channel, SIZE + 1000);
    expect(next.map(({ records }) => records.length)).toEqual([1000]);
  });
});
