import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { AppendUnit, NewRecord, UnitResult } from '@sealgate/ledger-port';
import type { Database, Statement } from '@sealgate/storage';
import { holdLock, until } from '@sealgate/testing';
import { APPEND_FUNCTIONS, appendStatement, prepareUnit, resultsOf, type AppendRow } from './append-statement.ts';
import { openTestLedger, type TestLedger } from './testing/open-test-ledger.ts';

let test: TestLedger;
let channels = 0;

beforeAll(async () => {
  test = await openTestLedger();
}, 120_000);
afterAll(() => test.close());

const newChannel = () => ({ network: 'acme', channel: `acme.n${(channels += 1)}` });
const record = (id: string, n = 1): NewRecord => ({ id, type: 'asset', owner: null, data: `{"n":${n}}`, extra: null });
const claim = (name: string, fingerprint = 's1:first') => ({
  claim: Buffer.from(name.padEnd(32)),
  fingerprint,
  acceptable: [fingerprint],
});
const prepared = (units: readonly AppendUnit[]) =>
  units.map((unit) => prepareUnit(unit, 1_700_000_000_123, randomBytes));

/** Runs one call. Returns its row for each unit. */
async function call(
  units: readonly AppendUnit[],
  carefully: boolean,
): Promise<{ rows: number; results: UnitResult[] }> {
  const group = prepared(units);
  const rows = await test.sql.query<AppendRow>(appendStatement(APPEND_FUNCTIONS, group, carefully));
  return { rows: rows.length, results: resultsOf(group, rows, test.ledger.epochs) };
}

/** The rows of a channel without random values. */
const stored = (channel: string) =>
  test.sql.query({
    text: `SELECT c.size, (SELECT array_agg(r.idx || r.id || r.type || coalesce(r.owner, '-') || r.data ORDER BY r.idx)
                             FROM ledger.records r WHERE r.channel_id = c.channel_id) AS records,
                  (SELECT array_agg(i.idx || i.id ORDER BY i.idx) FROM ledger.known_ids i WHERE i.channel_id = c.channel_id) AS ids,
                  (SELECT array_agg(concat_ws(' ', k.claim, k.fingerprint, k.first_index, k.record_count, k.indexes, k.note)
                                    ORDER BY k.note) FROM ledger.decoded_claims k WHERE k.channel_id = c.channel_id) AS claims
             FROM ledger.channels c WHERE c.channel = $1`,
    values: [channel],
  });

describe('a group of new units', () => {
  it('gets one result row and the same stored rows as from append_many', async () => {
    const unitsIn = (place: ReturnType<typeof newChannel>, of: string): AppendUnit[] => [
      { ...place, note: 'a', records: [record('a0', 0), { ...record('a1'), owner: 'o', extra: '{"x":1}' }] },
      { ...place, note: 'b', records: [record('b')], claim: claim(`${of} b`, 's2:x') },
      { ...place, note: 'c', records: [record('c0'), record('c1'), record('c2')], claim: claim(`${of} c`) },
    ];
    const [fast, careful] = [newChannel(), newChannel()];
    for (const place of [fast, careful]) await test.ledger.append({ ...place, note: '', records: [record('first')] });
    const one = await call(unitsIn(fast, 'one'), false);
    const each = await call(unitsIn(careful, 'two'), true);
    expect([one.rows, each.rows]).toEqual([1, 3]);
    const places = (results: readonly UnitResult[]) =>
      results.map(
        (result) => 'records' in result && result.records.map(({ id, index, existing }) => [id, index, existing]),
      );
    expect(places(one.results)).toEqual([
      [
        ['a0', 1, false],
        ['a1', 2, false],
      ],
      [['b', 3, false]],
      [
        ['c0', 4, false],
        ['c1', 5, false],
        ['c2', 6, false],
      ],
    ]);
    expect(places(each.results)).toEqual(places(one.results));
    const withoutClaim = (rows: readonly object[]) =>
      JSON.parse(JSON.stringify(rows).replaceAll(/\\\\x[0-9a-f]{64} /g, '')) as unknown;
    expect(withoutClaim(await stored(fast.channel))).toEqual(withoutClaim(await stored(careful.channel)));
    for (const { channel } of [fast, careful]) {
      expect(await test.ledger.audit(channel)).toMatchObject({ ok: true, size: 7 });
    }
  });

  it('continues where append_many stopped, and vice versa', async () => {
    const place = newChannel();
    const many = (id: string) =>
      test.sql.query<{ first_index: string }>({
        text: `SELECT first_index FROM ledger.append_many(ARRAY[$1], ARRAY['acme'], ARRAY[NULL]::bytea[], ARRAY[NULL]::text[],
                 ARRAY[sha256('')], ARRAY[sha256('')], ARRAY[''], ARRAY[1::bigint], ARRAY[1], ARRAY[1], ARRAY[$2], ARRAY['t'],
                 ARRAY[NULL]::text[], ARRAY['{}'], ARRAY[NULL]::text[], ARRAY[sha256('')], ARRAY[sha256('')])`,
        values: [place.channel, id],
      });
    const one = (id: string) => test.ledger.append({ ...place, note: '', records: [record(id)] });
    const calls = Array.from({ length: 60 }, (_, n) => (n % 2 === 0 ? many(`b${n}`) : one(`n${n}`)));
    const indexes = (await Promise.all<unknown>(calls)).map((answer) =>
      Array.isArray(answer)
        ? Number((answer[0] as { first_index: string }).first_index)
        : (answer as { records: { index: number }[] }).records[0]!.index,
    );
    expect(indexes.sort((a, b) => a - b)).toEqual(Array.from({ length: 60 }, (_, n) => n));
  });
});

describe('a group with duplicates', () => {
  it('rolls back the first attempt and reports the outcome of each unit', async () => {
    const place = newChannel();
    const mine = claim(`${place.channel} mine`);
    await call([{ ...place, note: 'first', records: [record('a')], claim: mine }], false);
    const { rows, results } = await call(
      [
        { ...place, note: '', records: [record('new')], claim: claim(`${place.channel} new`) },
        { ...place, note: '', records: [record('a', 2)] },
        { ...place, note: 'again', records: [record('x')], claim: mine },
        { ...place, note: '', records: [record('y'), record('z')] },
      ],
      false,
    );
    expect(rows).toBe(4);
    expect(results.map(({ outcome }) => outcome)).toEqual(['written', 'conflict', 'replayed', 'written']);
    const [left] = await stored(place.channel);
    expect(left).toMatchObject({ size: '4', ids: ['0a', '1new', '2y', '3z'], claims: { length: 2 } });
    expect(await test.ledger.audit(place.channel)).toMatchObject({ ok: true, size: 4 });
  });

  it('gets the same results and rows whether tried first or written carefully at once', async () => {
    const unit = fc.record({
      ids: fc.uniqueArray(fc.integer({ min: 0, max: 7 }), { minLength: 1, maxLength: 3 }),
      content: fc.integer({ min: 1, max: 2 }),
      claim: fc.option(fc.integer({ min: 0, max: 3 })),
      fingerprint: fc.constantFrom('s1:a', 's1:b'),
    });
    const property = fc.asyncProperty(
      fc.array(fc.array(unit, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 4 }),
      async (groups) => {
        const told: unknown[] = [];
        const kept: unknown[] = [];
        for (const carefully of [false, true]) {
          const place = newChannel();
          const answers: unknown[] = [];
          for (const [n, group] of groups.entries()) {
            const units = group.map(({ ids, content, claim: of, fingerprint }, position) => ({
              ...place,
              note: `${n}.${position}`,
              records: ids.map((id) => record(`r${id}`, content)),
              ...(of === null ? {} : { claim: claim(`${place.channel} ${of}`, fingerprint) }),
            }));
            const { results } = await call(separate(units), carefully);
            answers.push(
              results.map(({ outcome, ...rest }) => [
                outcome,
                'records' in rest ? rest.records.map(({ id, index, existing }) => [id, index, existing]) : rest,
              ]),
            );
          }
          told.push(answers);
          kept.push(
            await test.sql.query({
              text: `SELECT size FROM ledger.channels WHERE channel = $1`,
              values: [place.channel],
            }),
          );
          expect(await test.ledger.audit(place.channel)).toMatchObject({ ok: true });
        }
        expect(told[0]).toEqual(told[1]);
        expect(kept[0]).toEqual(kept[1]);
      },
    );
    await fc.assert(property, { numRuns: 60 });
  }, 60_000);

  it('makes the next groups of its channel careful, until eight had no duplicates', async () => {
    const carefully: unknown[] = [];
    const query: Database['query'] = <Row extends object>(statement: Statement) => {
      if (statement.text.includes('ledger.append(')) carefully.push(statement.values![2]);
      return test.sql.query<Row>(statement);
    };
    const { ledger } = test.reopen({ sql: { ...test.sql, query } });
    const place = newChannel();
    const append = (id: string) => ledger.append({ ...place, note: '', records: [record(id)] });
    for (const id of ['a', 'b', 'a', ...'cdefghijk']) await append(id);
    expect(carefully).toEqual([false, false, false, ...Array.from({ length: 8 }, () => true), false]);
    // Only groups of this channel.
    await append('a');
    await ledger.append({ ...newChannel(), note: '', records: [record('a')] });
    expect(carefully.slice(-2)).toEqual([false, false]);
  });
});

/** The units that fit in one call: the queue never puts a claim or an id into a group twice. */
function separate(units: readonly AppendUnit[]): AppendUnit[] {
  const taken = new Set<string>();
  return units.filter((unit) => {
    const names = [
      ...unit.records.map(({ id }) => id),
      ...(unit.claim === undefined ? [] : [unit.claim.claim.toString()]),
    ];
    if (names.some((name) => taken.has(name))) return false;
    for (const name of names) taken.add(name);
    return true;
  });
}

it.each([[[2]], [[-1]], [[0]], [[100_000_000]], [[]]])(
  'moves a head by the number of records sent, not by the number claimed: %j',
  async (said) => {
    const place = newChannel();
    await test.ledger.append({ ...place, note: '', records: [record('a')] });
    for (const carefully of [false, true]) {
      const { text, values } = appendStatement(
        APPEND_FUNCTIONS,
        prepared([{ ...place, note: '', records: [record('b')] }]),
        carefully,
      );
      const changed = values!.map((value, at) => (at === 9 ? said : value));
      await expect(test.sql.query({ text, values: changed })).rejects.toMatchObject({ code: '22023' });
    }
    expect(await stored(place.channel)).toMatchObject([{ size: '1', ids: ['0a'] }]);
  },
);

it('a channel waiting for its head lock blocks no other channel and frees its queue space after the deadline', async () => {
  const [held, free] = [newChannel(), newChannel()];
  for (const place of [held, free]) await test.ledger.append({ ...place, note: '', records: [record('first')] });
  const { ledger } = test.reopen({ limits: { waitingUnits: 20, answerWithinMs: 400 }, callWithinMs: 60_000 });
  const lock = await holdLock(test.url, `SELECT 1 FROM ledger.channels WHERE channel = '${held.channel}' FOR UPDATE`);
  const append = (place: typeof held, id: string) => ledger.append({ ...place, note: '', records: [record(id)] });
  const running = append(held, 'running').catch((error: Error) => error.name);
  await until(async () => (await lock.waiting()) > 0, { what: 'the call to wait for the head' });
  const waiting = Array.from({ length: 20 }, (_, n) =>
    append(held, `waiting-${n}`).catch((error: Error) => error.name),
  );
  await expect(append(free, 'refused')).rejects.toMatchObject({ name: 'LedgerOverloadedError' });
  // Sent, so unknown; the others were not sent, and freed their queue space.
  expect(await running).toBe('OutcomeUnknownError');
  expect(new Set(await Promise.all(waiting))).toEqual(new Set(['LedgerUnavailableError']));
  const results = await Promise.all(Array.from({ length: 15 }, (_, n) => append(free, `free-${n}`)));
  expect(results.every(({ outcome }) => outcome === 'written')).toBe(true);
  expect(await lock.waiting()).toBe(1);
  await lock.release();
  await ledger.drain();
  expect(await stored(held.channel)).toMatchObject([{ size: '2', ids: ['0first', '1running'] }]);
});

describe('when more channels have units waiting than calls may run', () => {
  /** Allows one call at a time and records each. */
  function narrow() {
    const calls: string[] = [];
    const query: Database['query'] = (statement, options) => {
      if (statement.name?.includes('append') === true) calls.push(statement.name);
      return test.sql.query(statement, options);
    };
    const sql = { ...test.sql, query };
    return { calls, ...test.reopen({ sql, limits: { running: 1 }, callWithinMs: 1000 }) };
  }
  const appendTo = ({ ledger }: ReturnType<typeof narrow>, place: ReturnType<typeof newChannel>, id: string) =>
    ledger.append({ ...place, note: '', records: [record(id)], claim: claim(`${place.channel} ${id}`) });

  it('they share a call, with the same results and rows as in separate calls', async () => {
    const ours = narrow();
    const places = Array.from({ length: 20 }, newChannel);
    const results = await Promise.all(['a', 'b'].flatMap((id) => places.map((place) => appendTo(ours, place, id))));
    expect(results.map((result) => 'records' in result && result.records[0]!.index)).toEqual([
      ...places.map(() => 0),
      ...places.map(() => 1),
    ]);
    expect(ours.calls.length).toBeLessThan(5);
    expect(ours.calls).toContain('ledger.append_many append');
    for (const { channel } of places) expect(await test.ledger.audit(channel)).toMatchObject({ ok: true, size: 2 });
  });

  it('a locked channel delays the others by one call at most', async () => {
    const ours = narrow();
    const places = Array.from({ length: 5 }, newChannel);
    for (const place of places) await appendTo(ours, place, 'first');
    const [held, ...others] = places;
    const lock = await holdLock(
      test.url,
      `SELECT 1 FROM ledger.channels WHERE channel = '${held!.channel}' FOR UPDATE`,
    );
    const waiting = appendTo(ours, held!, 'second').catch((error: Error) => error.name);
    const results = await Promise.all(others.map((place) => appendTo(ours, place, 'second')));
    expect(results.map(({ outcome }) => outcome)).toEqual(others.map(() => 'written'));
    expect(await waiting).toBe('OutcomeUnknownError');
    await lock.release();
    await ours.ledger.drain();
    for (const { channel } of places) expect(await test.ledger.audit(channel)).toMatchObject({ ok: true, size: 2 });
  });
});
