import { randomBytes, randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { Ledger, NewRecord, UnitClaim, UnitResult } from './ledger.ts';

/** What a driver provides: a working ledger, and a channel name that was never used before. */
interface LedgerUnderTest {
  readonly ledger: () => Ledger;
  readonly newChannel: () => { network: string; channel: string };
}

const record = (id: string, content: Partial<NewRecord> = {}): NewRecord => ({
  id,
  type: 'asset',
  owner: null,
  data: '{"n":1}',
  extra: null,
  ...content,
});

const claim = (fingerprint = 's1:first', ...more: string[]): UnitClaim => ({
  claim: randomBytes(32),
  fingerprint,
  acceptable: [fingerprint, ...more],
});

function written(result: UnitResult): Extract<UnitResult, { records: unknown }> {
  if (!('records' in result)) throw new Error(`The unit was not written: ${JSON.stringify(result)}`);
  return result;
}

/** The contract suite that every driver of the ledger port must pass. */
export function describeLedger(name: string, { ledger, newChannel }: LedgerUnderTest): void {
  const unit = (
    place: { network: string; channel: string },
    records: NewRecord[],
    more: { claim?: UnitClaim; note?: string } = {},
  ) => ({
    ...place,
    note: '{"made":"by the contract"}',
    records,
    ...more,
  });

  describe(`the ledger port: ${name}`, () => {
    it('writes a unit as one transaction and reads it back', async () => {
      const place = newChannel();
      const result = written(
        await ledger().append(unit(place, [record('a', { owner: 'o', extra: '{"x":1}' }), record('b')])),
      );
      expect(result.outcome).toBe('written');
      expect(result.records.map(({ id, channel, existing }) => ({ id, channel, existing }))).toEqual([
        { id: 'a', channel: place.channel, existing: false },
        { id: 'b', channel: place.channel, existing: false },
      ]);
      expect(new Set(result.records.map(({ transactionId }) => transactionId))).toEqual(
        new Set([result.transactionId]),
      );
      expect(await ledger().read(place.channel, 'a')).toMatchObject({
        ...place,
        id: 'a',
        type: 'asset',
        owner: 'o',
        data: { n: 1 },
        extra: { x: 1 },
        erased: false,
        transactionId: result.transactionId,
      });
    });

    it('returns undefined for a record that was never written', async () => {
      expect(await ledger().read(newChannel().channel, 'nobody')).toBeUndefined();
      expect(await ledger().prove(newChannel().channel, 'nobody')).toBeUndefined();
    });

    it('proves a record, with a receipt of what was written', async () => {
      const place = newChannel();
      const content = { owner: 'o', extra: '{"x":1}' };
      const { transactionId } = written(await ledger().append(unit(place, [record('a', content)])));
      const { receipt } = (await ledger().prove(place.channel, 'a'))!;
      const { at } = (await ledger().read(place.channel, 'a'))!;
      expect(receipt).toMatchObject({
        ...place,
        id: 'a',
        type: 'asset',
        owner: 'o',
        extra: { x: 1 },
        transactionId,
        at,
      });
    });

    it('returns the first receipt for the same content', async () => {
      const place = newChannel();
      const first = written(await ledger().append(unit(place, [record('a')])));
      const again = written(await ledger().append(unit(place, [record('a')])));
      expect(again.outcome).toBe('existing');
      expect(again.records).toEqual([{ ...first.records[0], existing: true }]);
    });

    it('writes the new records of a unit and marks the existing ones', async () => {
      const place = newChannel();
      const first = written(await ledger().append(unit(place, [record('a')])));
      const mixed = written(await ledger().append(unit(place, [record('b'), record('a'), record('c')])));
      expect(mixed.outcome).toBe('written');
      expect(mixed.records.map(({ id, existing }) => [id, existing])).toEqual([
        ['b', false],
        ['a', true],
        ['c', false],
      ]);
      expect(mixed.records[1]!.transactionId).toBe(first.transactionId);
    });

    it.each<[string, Partial<NewRecord>]>([
      ['data', { data: '{"n":2}' }],
      ['type', { type: 'other' }],
      ['owner', { owner: 'somebody' }],
      ['extra', { extra: '{}' }],
    ])('rejects an id with other %s, and writes nothing of the unit', async (_, content) => {
      const place = newChannel();
      await ledger().append(unit(place, [record('a')]));
      expect(await ledger().append(unit(place, [record('new'), record('a', content)]))).toEqual({
        outcome: 'conflict',
        id: 'a',
      });
      expect(await ledger().read(place.channel, 'new')).toBeUndefined();
    });

    it('finds a conflict without writing', async () => {
      const place = newChannel();
      await ledger().append(unit(place, [record('a')]));
      expect(await ledger().findConflict(unit(place, [record('b'), record('a', { data: '{"n":2}' })]))).toBe('a');
      expect(await ledger().findConflict(unit(place, [record('b'), record('a')]))).toBeUndefined();
      expect(await ledger().findConflict(unit(newChannel(), [record('a', { type: 'other' })]))).toBeUndefined();
      expect(await ledger().read(place.channel, 'b')).toBeUndefined();
    });

    it('finds no conflict if the claim is taken: append reports the replay or reuse', async () => {
      const place = newChannel();
      const mine = claim();
      await ledger().append(unit(place, [record('a')], { claim: mine }));
      const other = unit(place, [record('a', { data: '{"n":2}' })], { claim: mine });
      expect(await ledger().findConflict(other)).toBeUndefined();
    });

    it('preserves all of JSON: U+0000, every plane, exact numbers', async () => {
      const place = newChannel();
      const data = '{"":"\\u0000","num":1e+21,"😀":"\\u001f\u007f\u2028"}';
      await ledger().append(unit(place, [record('a', { data })]));
      expect((await ledger().read(place.channel, 'a'))?.data).toEqual(JSON.parse(data));
    });

    it('replays a claim: the same result, and nothing new', async () => {
      const place = newChannel();
      const mine = claim();
      const first = written(await ledger().append(unit(place, [record('a')], { claim: mine, note: '{"event":1}' })));
      const again = written(await ledger().append(unit(place, [record('a')], { claim: mine, note: '{"event":2}' })));
      expect(again).toEqual({ ...first, outcome: 'replayed' });
      expect(again.note).toBe('{"event":1}');
    });

    it('accepts a fingerprint made with an older secret', async () => {
      const place = newChannel();
      const old = claim('old:x');
      await ledger().append(unit(place, [record('a')], { claim: old }));
      const rotated = { claim: old.claim, fingerprint: 'new:y', acceptable: ['new:y', 'old:x'] };
      expect((await ledger().append(unit(place, [record('a')], { claim: rotated }))).outcome).toBe('replayed');
    });

    it('replays a mix of new and existing records unchanged', async () => {
      const place = newChannel();
      await ledger().append(unit(place, [record('a')]));
      const mine = claim();
      const first = written(await ledger().append(unit(place, [record('b'), record('a')], { claim: mine })));
      expect(written(await ledger().append(unit(place, [record('b'), record('a')], { claim: mine }))).records).toEqual(
        first.records,
      );
    });

    it('rejects a claim with another fingerprint, also on another channel', async () => {
      const place = newChannel();
      const mine = claim();
      await ledger().append(unit(place, [record('a')], { claim: mine }));
      const other = { ...mine, fingerprint: 's1:other', acceptable: ['s1:other'] };
      expect(await ledger().append(unit(place, [record('b')], { claim: other }))).toEqual({ outcome: 'reused' });
      expect(await ledger().append(unit(newChannel(), [record('b')], { claim: other }))).toEqual({ outcome: 'reused' });
    });

    it('gives an id to exactly one of many concurrent units, and affects no other unit', async () => {
      const place = newChannel();
      const results = await Promise.all(
        Array.from({ length: 60 }, (_, n) =>
          ledger().append(unit(place, [record(n % 2 === 0 ? 'wanted' : randomUUID(), { data: `{"n":${n}}` })])),
        ),
      );
      const wanted = results.filter((_, n) => n % 2 === 0);
      expect(wanted.filter(({ outcome }) => outcome === 'written')).toHaveLength(1);
      expect(wanted.filter(({ outcome }) => outcome === 'conflict')).toHaveLength(29);
      expect(results.filter((_, n) => n % 2 === 1).every(({ outcome }) => outcome === 'written')).toBe(true);
    });

    it('lets one of many units with the same claim write, and replays it to the others', async () => {
      const place = newChannel();
      const mine = claim();
      const results = await Promise.all(
        Array.from({ length: 20 }, () => ledger().append(unit(place, [record('a')], { claim: mine }))),
      );
      expect(results.filter(({ outcome }) => outcome === 'written')).toHaveLength(1);
      expect(results.filter(({ outcome }) => outcome === 'replayed')).toHaveLength(19);
    });

    it('lists records of a type by id in code point order, page by page', async () => {
      const place = newChannel();
      const ids = ['b', 'a', 'Z', '\u{1F600}', '\uFF5E', 'ä'];
      await ledger().append(unit(place, [...ids.map((id) => record(id)), record('other', { type: 'other' })]));
      const query = { channel: place.channel, type: 'asset', limit: 4 };
      const first = await ledger().query({ ...query, afterId: '' });
      expect(first.map(({ id }) => id)).toEqual(['Z', 'a', 'b', 'ä']);
      const second = await ledger().query({ ...query, afterId: 'ä' });
      expect(second.map(({ id }) => id)).toEqual(['\uFF5E', '\u{1F600}']);
    });

    it('is healthy', async () => {
      expect(await ledger().health()).toMatchObject({ ok: true, problem: null });
    });
  });
}
