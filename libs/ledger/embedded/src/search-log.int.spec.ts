import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parseCheckpoint, verifyInclusion } from '@sealgate/merkle';
import type { ProvedEntry } from './search-log.ts';
import { eachWithArchive, SIZE } from './testing/open-test-archive.ts';
import { eachWithLostChannel, LOST } from './testing/lost-channel.ts';
import { openTestLedger, type TestLedger } from './testing/open-test-ledger.ts';

const hashOf = ({ proof }: ProvedEntry) => Buffer.from(proof.leafHash, 'hex');

function holds({ proof: { leafHash, index, treeSize, inclusionPath, checkpoint } }: ProvedEntry): boolean {
  const { size, root } = parseCheckpoint(checkpoint);
  const path = inclusionPath.map((hash) => Buffer.from(hash, 'hex'));
  return size === treeSize && verifyInclusion({ leafHash: Buffer.from(leafHash, 'hex'), index, size, path, root });
}

describe('the search in a log', () => {
  let test: TestLedger;
  const channel = 'acme.search';
  const SIZE_HERE = 257;
  const ID = '5e9c3a50-0b3f-4c7e-9d65-000000000000';
  const search = () => test.ledger.search;
  beforeAll(async () => {
    test = await openTestLedger();
    const records = Array.from({ length: SIZE_HERE }, (_, n) => ({
      id: n === 4 ? ID : `r${n}`,
      type: 'asset',
      owner: 'me',
      data: `{"n":${n}}`,
      extra: null,
    }));
    await test.ledger.append({ network: 'acme', channel, note: '{}', records });
    await test.integrator.catchUp(channel, SIZE_HERE);
  }, 120_000);
  afterAll(() => test.close());

  it.each(['r0', ID, 'r256'])('proves the record %s by its id, its place and its leaf hash alike', async (id) => {
    const { receipt, proof } = (await test.ledger.prove(channel, id))!;
    const byId = (await search().entry(channel, { id }))!;
    expect(byId).toEqual({ at: receipt.at, proof });
    expect(holds(byId)).toBe(true);
    expect(await search().entry(channel, { place: { index: receipt.index } })).toEqual(byId);
    expect(await search().entry(channel, { leafHash: hashOf(byId) })).toEqual(byId);
  });

  it('finds no part of an id, no place beyond the end, no other hash, and nothing elsewhere', async () => {
    for (const wanted of [
      { id: 'r' },
      { id: ID.slice(0, 8) },
      { place: { index: SIZE_HERE } },
      { place: { index: 0, epoch: 1 } },
      { leafHash: Buffer.alloc(32, 1) },
    ])
      expect(await search().entry(channel, wanted)).toBeUndefined();
    for (const wanted of [{ id: 'r0' }, { place: { index: 0 } }, { leafHash: Buffer.alloc(32, 1) }])
      expect(await search().entry('acme.nobody', wanted)).toBeUndefined();
    expect(await search().growth('acme.nobody')).toEqual([]);
  });

  it('finds a record once a checkpoint covers it, by a hash that was not indexed before', async () => {
    await test.ledger.append({
      network: 'acme',
      channel,
      note: '{}',
      records: [{ id: 'later', type: 'asset', owner: null, data: '{}', extra: null }],
    });
    expect(await search().entry(channel, { id: 'later' })).toBeUndefined();
    await test.integrator.catchUp(channel, SIZE_HERE + 1);
    const found = (await search().entry(channel, { id: 'later' }))!;
    const again = test.reopen().ledger.search;
    expect(await again.entry(channel, { leafHash: hashOf(found) })).toEqual(found);
  });

  it('tells the growth in a bounded number of steps, the first and the last record among them', async () => {
    const points = await search().growth(channel);
    expect(points).toHaveLength(49);
    expect([points[0]!.size, points.at(-1)!.size]).toEqual([1, SIZE_HERE + 1]);
    expect(points.map(({ at }) => at)).toEqual(points.map(({ at }) => at).toSorted());
    const { receipt } = (await test.ledger.prove(channel, 'r0'))!;
    expect(points[0]!.at).toBe(receipt.at);
  });

  it('shows no other entry where a place was edited', async () => {
    const found = (await search().entry(channel, { id: 'r7' }))!;
    await search().entry(channel, { leafHash: hashOf(found) });
    await test.sql.query({ text: 'UPDATE ledger.leaf_places SET leaf = 3000 WHERE leaf = 7' });
    expect(await search().entry(channel, { leafHash: hashOf(found) })).toBeUndefined();
    await test.sql.query({ text: 'UPDATE ledger.leaf_places SET leaf = 8 WHERE leaf = 3000' });
    expect(await search().entry(channel, { leafHash: hashOf(found) })).toBeUndefined();
  });

  it('is refused as unavailable where a tile was edited', async () => {
    await test.sql.query({
      text: 'UPDATE ledger.tiles SET hashes = set_byte(hashes, 320, get_byte(hashes, 320) # 1) WHERE level = 0 AND tile = 0',
    });
    await expect(search().entry(channel, { place: { index: 10 } })).rejects.toThrow(channel);
  });
});

describe('the search among archived records', () => {
  let test: TestLedger;
  let channel: string;
  let archive: () => Promise<unknown>;
  eachWithArchive(({ test: opened, of }) => {
    test = opened;
    ({ channel } = of);
    archive = () => of.ledger.archiveRecords({ channel, before: 600 });
  });

  it('finds them without their files, and tells the time of the last of each stretch', async () => {
    const { search } = test.reopen().ledger;
    const before = (await search.entry(channel, { id: 'r7' }))!;
    await archive();
    const { search: after } = test.reopen().ledger;
    for (const wanted of [{ id: 'r7' }, { place: { index: 7 } }, { leafHash: hashOf(before) }])
      expect(await after.entry(channel, wanted)).toEqual({ at: undefined, proof: before.proof });
    const points = await after.growth(channel);
    expect([points[0]!.size, points.at(-1)!.size]).toEqual([512, SIZE]);
    expect(new Set(points.map(({ size }) => size)).size).toBe(points.length);
  });
});

describe('the search after a declared loss', () => {
  let parts: Parameters<Parameters<typeof eachWithLostChannel>[0]>[0];
  eachWithLostChannel((opened) => void (parts = opened));

  it('finds what each log of the channel has, the declaration too, and nothing that was lost', async () => {
    const { test, at } = parts;
    await at.loseRecords();
    await at.recover();
    await at.write('x');
    const { receipt, proof } = (await test.ledger.prove(LOST, 'x'))!;
    const { search } = test.ledger;
    const found = (await search.entry(LOST, { id: 'x' }))!;
    expect(found).toEqual({ at: receipt.at, proof });
    expect(await search.entry(LOST, { leafHash: hashOf(found) })).toEqual(found);
    expect(await search.entry(LOST, { place: { index: 1, epoch: 1 } })).toEqual(found);
    const first = (await search.entry(LOST, { place: { index: 0, epoch: 1 } }))!;
    at.expectProved(first.proof, hashOf(first));
    expect(first.at).toBe(first.proof.declaration?.statement.at);
    for (const id of ['a', 'b']) expect((await search.entry(LOST, { id }))?.proof.epoch).toBeUndefined();
    for (const id of ['c', 'd']) expect(await search.entry(LOST, { id })).toBeUndefined();
    expect((await search.growth(LOST)).map(({ size }) => size)).toEqual([1, 2, 3]);
  });
});
