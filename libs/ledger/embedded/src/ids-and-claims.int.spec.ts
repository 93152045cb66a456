import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { AppendUnit, NewRecord } from '@sealgate/ledger-port';
import { APPEND_FUNCTIONS, appendStatement, prepareUnit, type AppendRow } from './append-statement.ts';
import { conflictIn, heldIn } from './known-ids.ts';
import { openTestLedger, type TestLedger } from './testing/open-test-ledger.ts';

let test: TestLedger;
/** Waits for 32,768 records in one unit however busy the machine is. */
let patient: TestLedger['ledger'];
let channels = 0;
beforeAll(async () => {
  test = await openTestLedger();
  patient = test.reopen({ limits: { answerWithinMs: 30_000 }, callWithinMs: 30_000 }).ledger;
}, 120_000);
afterAll(() => test.close());

const newPlace = () => ({ network: 'acme', channel: `acme.k${(channels += 1)}` });
const record = (id: string, n = 1): NewRecord => ({ id, type: 'asset', owner: null, data: `{"n":${n}}`, extra: null });
const claim = (fingerprint = 's1:f') => ({ claim: randomBytes(32), fingerprint, acceptable: [fingerprint] });
const append = (unit: AppendUnit) => patient.append(unit);
const run = <Row extends object>(text: string, ...values: unknown[]) => test.sql.query<Row>({ text, values });
const count = async (table: string, channel: string) => {
  const text = `SELECT count(*)::int AS n FROM ledger.${table} JOIN ledger.channels USING (channel_id) WHERE channel = $1`;
  return (await run<{ n: number }>(text, channel))[0]!.n;
};
const call = (units: readonly AppendUnit[], carefully: boolean) =>
  test.sql.query<AppendRow>(
    appendStatement(
      APPEND_FUNCTIONS,
      units.map((unit) => prepareUnit(unit, 1_700_000_000_123, randomBytes)),
      carefully,
    ),
  );

/** A channel with one claim of each kind: with one record, with several, and with an existing and a new one. */
async function written() {
  const place = newPlace();
  const uuid = randomUUID();
  const units: AppendUnit[] = [
    { ...place, note: 'one', records: [record(uuid)], claim: claim() },
    { ...place, note: 'several', records: [record('a'), record('b')], claim: claim() },
    { ...place, note: 'mixed', records: [record('a'), record('c')], claim: claim() },
    { ...place, note: 'known', records: [record('a'), record('b')], claim: claim() },
    { ...place, note: '', records: [record('d')] },
  ];
  const results = [];
  for (const unit of units) results.push(await append(unit));
  return { ...place, uuid, units, results };
}

async function expectKept(of: Awaited<ReturnType<typeof written>>) {
  const place = { network: 'acme', channel: of.channel };
  for (const [at, unit] of of.units.entries()) {
    if (unit.claim === undefined) continue;
    const again = await append({ ...unit, note: 'other' });
    const { outcome: _, ...first } = of.results[at] as { outcome: string };
    expect(again).toEqual({ ...first, outcome: 'replayed' });
    const reused = { ...unit.claim, fingerprint: 's1:g', acceptable: ['s1:g'] };
    expect(await append({ ...unit, claim: reused })).toEqual({ outcome: 'reused' });
    expect(await append({ ...unit, ...newPlace(), claim: reused })).toEqual({ outcome: 'reused' });
  }
  for (const id of [of.uuid, 'a', 'd']) {
    expect(await append({ ...place, note: '', records: [record(id)] })).toMatchObject({ outcome: 'existing' });
    const other = { ...place, note: '', records: [record(id, 2)], claim: claim() };
    expect(await append(other)).toEqual({ outcome: 'conflict', id });
    expect(await test.ledger.findConflict(other)).toBe(id);
    expect(await test.ledger.read(of.channel, id)).toMatchObject({ id, data: { n: 1 } });
  }
  expect(await heldIn(test.sql, of.channel, [of.uuid, 'a', 'z'])).toEqual(new Set([of.uuid, 'a']));
  expect(await test.ledger.audit(of.channel)).toMatchObject({ ok: true, size: 5 });
}

it('claims, ids and records of every kind are found again', async () => {
  const of = await written();
  await expectKept(of);
  for (const carefully of [false, true]) {
    const known = { network: 'acme', channel: of.channel, note: '', records: [record('a')] };
    expect(await call([known], carefully)).toMatchObject([{ outcome: 'existing' }]);
    expect(await call([{ ...of.units[0]!, note: '' }], carefully)).toMatchObject([{ outcome: 'replayed' }]);
  }
});

describe('a look-up of ids', () => {
  it('reads those that it asks for, even by a plan made while there were few', async () => {
    const place = newPlace();
    const unitOf = (ids: readonly string[]) => ({ ...place, note: '', records: ids.map((id) => record(id)) });
    await test.sql.transaction(async (sql) => {
      const send = (unit: AppendUnit) =>
        sql.query(appendStatement(APPEND_FUNCTIONS, [prepareUnit(unit, 1_700_000_000_123, randomBytes)], true));
      const lookUp = async () => {
        await heldIn(sql, place.channel, ['first', 'never']);
        await conflictIn(sql, unitOf(['first']));
        await send(unitOf(['first']));
        await sql.query({ text: `SELECT idx FROM ledger.record($1, 'first')`, values: [place.channel] });
      };
      const readRows = async () => {
        const text = `SELECT (idx_tup_fetch + seq_tup_read)::int AS n FROM pg_stat_xact_user_tables
                       WHERE relid = 'ledger.ids'::regclass`;
        return (await sql.query<{ n: number }>({ text }))[0]!.n;
      };
      await send(unitOf(['first']));
      await lookUp();
      await send(unitOf(Array.from({ length: 2000 }, (_, n) => `id ${n}`)));
      const before = await readRows();
      await lookUp();
      expect((await readRows()) - before).toBeLessThan(20);
    });
  });
});

describe('an id', () => {
  const near = randomUUID();
  const texts = [near.toUpperCase(), `{${near}}`, near.replaceAll('-', ''), `${near.slice(1)}-`, `g${near.slice(1)}`];

  it('matches only if every character does', async () => {
    const digit = fc.constantFrom(...'0123456789abcdefABF-g{é');
    const any = fc.oneof(
      fc.uuid(),
      fc.string({ unit: digit, minLength: 35, maxLength: 37 }),
      fc.constantFrom(...texts),
    );
    const property = fc.asyncProperty(fc.uniqueArray(any, { minLength: 1, maxLength: 6 }), async (ids) => {
      const place = newPlace();
      const unit = { ...place, note: '', records: ids.map((id) => record(id)) };
      expect(await append(unit)).toMatchObject({
        outcome: 'written',
        records: ids.map((id) => ({ id, existing: false })),
      });
      expect(await append(unit)).toMatchObject({ outcome: 'existing' });
      const stored = await run<{ id: string }>(
        `SELECT i.id FROM ledger.known_ids i JOIN ledger.channels USING (channel_id) WHERE channel = $1 ORDER BY idx`,
        place.channel,
      );
      expect(stored.map(({ id }) => id)).toEqual(ids);
    });
    await fc.assert(property, { numRuns: 60 });
  }, 60_000);

  it('that collides with the hash of another is stored separately, and found like any other', async () => {
    const place = newPlace();
    await append({ ...place, note: '', records: [record('first')] });
    // Stands for another id: no id has this text.
    const [row] = await run<{ id: number }>(
      'SELECT channel_id AS id FROM ledger.channels WHERE channel = $1',
      place.channel,
    );
    await run(`INSERT INTO ledger.ids VALUES (0, $1, gen_random_uuid(), 'taken')`, row!.id);
    const unit = { ...place, note: '', records: [record('taken'), record('free')], claim: claim() };
    expect(await append(unit)).toMatchObject({ outcome: 'written' });
    expect([await count('colliding_ids', place.channel), await count('ids', place.channel)]).toEqual([1, 3]);
    for (const carefully of [false, true]) {
      const again = (n: number) => call([{ ...place, note: '', records: [record('taken', n)] }], carefully);
      expect(await again(1)).toMatchObject([{ outcome: 'existing' }]);
      expect(await again(2)).toMatchObject([{ outcome: 'conflict', detail: { id: 'taken' } }]);
    }
    await run(`DELETE FROM ledger.ids WHERE id = 'taken' AND channel_id = $1`, row!.id);
    expect(await test.ledger.findConflict({ ...place, note: '', records: [record('taken', 2)] })).toBe('taken');
    expect(await test.ledger.read(place.channel, 'taken')).toMatchObject({ id: 'taken', data: { n: 1 } });
    expect(await heldIn(test.sql, place.channel, ['taken', 'free', 'never'])).toEqual(new Set(['taken', 'free']));
    expect(await test.ledger.audit(place.channel)).toMatchObject({ ok: true, size: 3 });
  });
});

describe('a claim', () => {
  const nonce = randomBytes(16);
  it.each([
    ['that contains the digits of its nonce', { note: `evt_${nonce.toString('hex')}\t1`, nonce }, 1],
    ['that contains them twice', { note: `${nonce.toString('hex')} ${nonce.toString('hex')}`, nonce }, 1],
    ['that contains their placeholder', { note: `\u0001 ${nonce.toString('hex')}`, nonce }, 1],
    ['of more records than fit a smallint', { note: 'many' }, 32_768],
  ])('returns a note %s', async (_, more, records) => {
    const place = newPlace();
    const made = Array.from({ length: records }, (__, n) => record(`r${n}`));
    const unit = { ...place, ...more, records: made, claim: claim() };
    const first = await append(unit);
    expect(first).toMatchObject({ outcome: 'written', note: more.note });
    expect(await append({ ...unit, note: 'other', nonce: randomBytes(16) })).toEqual({ ...first, outcome: 'replayed' });
    expect(await test.ledger.audit(place.channel)).toMatchObject({ ok: true, size: records });
  });

  it('stores the digits of its nonce once', async () => {
    const place = newPlace();
    await append({ ...place, note: `evt_${nonce.toString('hex')}`, nonce, records: [record('a')], claim: claim() });
    const text = 'SELECT note FROM ledger.claims JOIN ledger.channels USING (channel_id) WHERE channel = $1';
    expect(await run(text, place.channel)).toEqual([{ note: 'evt_\u0001' }]);
  });

  it('that shares the unique prefix with another writes nothing', async () => {
    const place = newPlace();
    const [one, other] = [claim(), claim()];
    one.claim.copy(other.claim, 0, 0, 15);
    await append({ ...place, note: '', records: [record('a')], claim: one });
    for (const carefully of [false, true]) {
      const refused = call([{ ...place, note: '', records: [record('b')], claim: other }], carefully);
      await expect(refused).rejects.toMatchObject({ code: '40001' });
    }
    expect(await count('records', place.channel)).toBe(1);
  });

  it('that is not 32 bytes long writes nothing', async () => {
    const place = newPlace();
    await append({ ...place, note: '', records: [record('a')] });
    for (const carefully of [false, true]) {
      const short = { ...claim(), claim: randomBytes(31) };
      const refused = call([{ ...place, note: '', records: [record('b')], claim: short }], carefully);
      await expect(refused).rejects.toMatchObject({ code: '23502' });
    }
    expect(await count('records', place.channel)).toBe(1);
  });

  it('sent to many channels at once is taken in one of them', async () => {
    const mine = claim().claim;
    const outcomes = await Promise.all(
      Array.from({ length: 12 }, (_, n) => {
        const fingerprint = `s1:${n}`;
        const unit = { ...newPlace(), note: '', records: [record('a')] };
        return append({ ...unit, claim: { claim: mine, fingerprint, acceptable: [fingerprint] } });
      }),
    );
    expect(outcomes.map(({ outcome }) => outcome).sort()).toEqual([...Array(11).fill('reused'), 'written']);
  });
});

it('an erasure stores the hash of the removed content, and the proof stays valid', async () => {
  const place = newPlace();
  await append({ ...place, note: '', records: [record('a')] });
  const before = await test.ledger.prove(place.channel, 'a');
  await test.ledger.erase(place.channel, 'a', 'asked for');
  const after = await test.ledger.prove(place.channel, 'a');
  expect(after!.receipt).toEqual({ ...before!.receipt, salt: null, extra: null });
  expect(after!.receipt.dataHash).toMatch(/^[0-9a-f]{64}$/);
  expect(await test.ledger.audit(place.channel)).toMatchObject({ ok: true });
});
