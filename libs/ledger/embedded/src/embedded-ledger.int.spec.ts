import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { dataHashOf, receiptLeaf } from '@sealgate/envelope';
import fc from 'fast-check';
import { canonical } from '@sealgate/json';
import { describeLedger } from '@sealgate/ledger-port/contract';
import { noteVerifier, parseCheckpoint, verifyInclusion } from '@sealgate/merkle';
import { until } from '@sealgate/testing';
import { heldIn } from './known-ids.ts';
import { openTestLedger, ORIGIN, type TestLedger } from './testing/open-test-ledger.ts';

let test: TestLedger;
let channels = 0;

beforeAll(async () => {
  test = await openTestLedger();
  await test.integrator.start();
});

afterAll(() => test.close());

const newChannel = () => ({ network: 'acme', channel: `acme.c${(channels += 1)}` });
const record = (id: string, n = 1) => ({ id, type: 'asset', owner: null, data: `{"n":${n}}`, extra: null });

describeLedger('embedded', { ledger: () => test.ledger, newChannel });

describe('the embedded ledger', () => {
  it('numbers the records of a channel without gaps across concurrent writers', async () => {
    const place = newChannel();
    const other = test.reopen().ledger;
    const units = await Promise.all(
      Array.from({ length: 200 }, (_, n) =>
        (n % 2 === 0 ? test.ledger : other).append({
          ...place,
          note: '{}',
          records: [record(`a${n}`), record(`b${n}`)],
        }),
      ),
    );
    const indexes = units.flatMap((unit) => ('records' in unit ? unit.records.map(({ index }) => index!) : []));
    expect(indexes.sort((a, b) => a - b)).toEqual(Array.from({ length: 400 }, (_, n) => n));
  });

  it('proves a record to a verifier that only has the verifier key', async () => {
    const place = newChannel();
    for (const n of [1, 2, 3, 4, 5]) await test.ledger.append({ ...place, note: '{}', records: [record(`r${n}`, n)] });
    const { receipt, proof } = (await test.ledger.prove(place.channel, 'r3'))!;
    const opened = noteVerifier(test.verifierKey).verify(proof.checkpoint);
    const { origin, size, root } = parseCheckpoint(opened!.text);
    expect(origin).toBe(`${ORIGIN}/${place.channel}`);
    expect(proof).toMatchObject({ channel: place.channel, index: 2, treeSize: size });
    const path = proof.inclusionPath.map((hash) => Buffer.from(hash, 'hex'));
    expect(verifyInclusion({ leafHash: receiptLeaf(receipt), index: 2, size, path, root })).toBe(true);
    expect(dataHashOf(Buffer.from(receipt.salt!, 'hex'), { n: 3 }, null)).toBe(receipt.dataHash);
  });

  it('proves every record of a log that spans tiles', async () => {
    const place = newChannel();
    await test.ledger.append({
      ...place,
      note: '{}',
      records: Array.from({ length: 700 }, (_, n) => record(`r${n}`, n)),
    });
    for (const n of [0, 255, 256, 511, 512, 699]) {
      const { proof } = (await test.ledger.prove(place.channel, `r${n}`))!;
      expect(proof.index).toBe(n);
    }
    expect(await test.ledger.audit(place.channel)).toEqual({
      ok: true,
      size: 700,
      firstBadRecordId: null,
      problem: null,
    });
    // Each flips a bit of every tile, or back.
    const edit = (level: number) =>
      test.sql.query({
        text: `UPDATE ledger.tiles t SET hashes = set_byte(hashes, 40, get_byte(hashes, 40) # 1) FROM ledger.channels c
                WHERE c.channel = $1 AND t.channel_id = c.channel_id AND t.level = $2`,
        values: [place.channel, level],
      });
    const prove = (ledger = test.ledger) => ledger.prove(place.channel, 'r3');
    const proved = await prove();
    await edit(1);
    expect(await prove()).toEqual(proved); // From tiles that were verified before.
    const other = test.reopen().ledger;
    await expect(prove(other)).rejects.toThrow('is not what the checkpoint at 700 was signed over');
    await edit(1);
    expect(await prove(other)).toEqual(proved);
    await edit(0);
    await expect(prove()).rejects.toThrow('is not what the checkpoint at 700 was signed over');
    await edit(0);
    expect(await prove()).toEqual(proved);
  });

  it('erases content permanently: proofs stay valid, the id stays taken', async () => {
    const place = newChannel();
    await test.ledger.append({ ...place, note: '{}', records: [record('gone'), record('kept')] });
    const before = (await test.ledger.prove(place.channel, 'gone'))!;
    expect(await test.ledger.erase(place.channel, 'gone', 'asked for')).toBe(true);
    expect(await test.ledger.erase(place.channel, 'gone', 'again')).toBe(true);
    expect(await test.ledger.erase(place.channel, 'nobody', 'asked for')).toBe(false);
    expect(await test.ledger.read(place.channel, 'gone')).toMatchObject({ data: null, extra: null, erased: true });
    const after = (await test.ledger.prove(place.channel, 'gone'))!;
    expect(after.receipt).toEqual({ ...before.receipt, salt: null, extra: null });
    expect(after.proof.leafHash).toBe(before.proof.leafHash);
    expect(await test.ledger.append({ ...place, note: '{}', records: [record('gone')] })).toEqual({
      outcome: 'conflict',
      id: 'gone',
    });
    expect((await test.ledger.audit(place.channel)).ok).toBe(true);
  });

  it('lists the ids that a channel holds, erased ones too, as of the snapshot of the surrounding statement', async () => {
    const place = newChannel();
    await test.ledger.append({ ...place, note: '{}', records: [record('a'), record('gone')] });
    await test.ledger.erase(place.channel, 'gone', 'asked');
    expect(await heldIn(test.sql, place.channel, ['a', 'gone', 'b'])).toEqual(new Set(['a', 'gone']));
    expect(await heldIn(test.sql, newChannel().channel, ['a'])).toEqual(new Set());
    expect(await heldIn(test.sql, place.channel, [])).toEqual(new Set());
    await test.sql.transaction(async (sql) => {
      await sql.query({ text: 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ' });
      await sql.query({ text: 'SELECT 1' });
      await test.ledger.append({ ...place, note: '{}', records: [record('b')] });
      expect(await heldIn(sql, place.channel, ['a', 'b'])).toEqual(new Set(['a']));
    });
    expect(await heldIn(test.sql, place.channel, ['a', 'b'])).toEqual(new Set(['a', 'b']));
  });

  it('limits a page to the requested bytes, returns a larger record alone, and reports whether there are more', async () => {
    const place = newChannel();
    // Canonical JSON of 10, 10, 50, 10 and 10 bytes, in id order.
    const sizes = { a: 10, b: 10, c: 50, d: 10, e: 10 };
    const records = Object.entries(sizes).map(([id, size]) => ({
      ...record(id),
      data: JSON.stringify('x'.repeat(size - 2)),
    }));
    await test.ledger.append({ ...place, note: '{}', records: [...records, { ...record('z'), type: 'other' }] });
    const page = async (afterId: string, limit: number, maxBytes: number) => {
      const query = { channel: place.channel, type: 'asset', afterId, limit, maxBytes };
      const { records: found, more } = await test.ledger.queryPage(query);
      return [found.map(({ id }) => id).join(''), more];
    };
    expect(await page('', 10, 1000)).toEqual(['abcde', false]);
    expect(await page('', 5, 90)).toEqual(['abcde', false]);
    expect(await page('', 5, 89)).toEqual(['abcd', true]);
    expect(await page('', 4, 1000)).toEqual(['abcd', true]);
    expect(await page('', 10, 20)).toEqual(['ab', true]);
    expect(await page('', 10, 19)).toEqual(['a', true]);
    expect(await page('b', 10, 20)).toEqual(['c', true]);
    expect(await page('c', 10, 20)).toEqual(['de', false]);
    expect(await page('e', 10, 20)).toEqual(['', false]);
    await test.ledger.erase(place.channel, 'c', 'asked');
    expect(await page('b', 10, 20)).toEqual(['cde', false]);
  });

  it('rejects units beyond the queue limits as overload without writing them', async () => {
    const place = newChannel();
    const { ledger } = test.reopen({ limits: { waitingUnits: 3 } });
    const results = await Promise.allSettled(
      Array.from({ length: 10 }, (_, n) => ledger.append({ ...place, note: '{}', records: [record(`o${n}`)] })),
    );
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
    const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as Error] : []));
    expect(new Set(refused.map(({ name }) => name))).toEqual(new Set(['LedgerOverloadedError']));
    await ledger.drain();
    expect(await test.ledger.size(place.channel)).toBe(3);
  });

  it('admits one of several integrators per channel, producing one tree', async () => {
    const place = newChannel();
    const second = test.reopen();
    await second.integrator.start();
    for (let n = 0; n < 40; n += 1) await test.ledger.append({ ...place, note: '{}', records: [record(`i${n}`)] });
    await test.ledger.prove(place.channel, 'i39');
    await second.integrator.stop();
    expect(await test.ledger.audit(place.channel)).toMatchObject({ ok: true, size: 40 });
    expect([...test.integrator.halted, ...second.integrator.halted]).toEqual([]);
  });

  it('audits hashes computed by the service by recomputing them in the database, for any text', async () => {
    // All that PostgreSQL can store as text: everything but U+0000.
    const text = fc.string({ unit: 'binary', maxLength: 20 }).map((made) => made.replaceAll('\0', ''));
    const content = fc.record({
      type: text,
      owner: fc.option(text),
      data: fc.dictionary(text, fc.string({ unit: 'binary' })).map((data) => canonical({ ...data })),
      extra: fc.option(text.map((extra) => canonical({ extra }))),
    });
    const property = fc.asyncProperty(fc.array(content, { minLength: 1 }), text, text, async (contents, id, note) => {
      const place = newChannel();
      const claim = { claim: randomBytes(32), fingerprint: `s1:${note}`, acceptable: [`s1:${note}`] };
      const records = contents.map((made, n) => ({ ...made, id: `${id}${n}` }));
      await test.ledger.append({ ...place, note, claim, records });
      expect(await test.ledger.audit(place.channel)).toMatchObject({ ok: true, size: records.length });
    });
    await fc.assert(property, { numRuns: 50 });
  });

  it('serves tiles below its newest checkpoint only, cut to the requested width', async () => {
    const place = newChannel();
    const append = (from: number, count: number) =>
      test.ledger.append({
        ...place,
        note: '',
        records: Array.from({ length: count }, (_, n) => record(`t${from + n}`)),
      });
    const written = await append(0, 3);
    const leaves = 'records' in written ? written.records.map(({ leafHash }) => leafHash).join('') : '';
    await test.integrator.catchUp(place.channel, 3);
    const tile = (level: number, index: number, width: number) =>
      test.ledger.tile(place.channel, { level, index, width });
    // Catching up ends at once if a round of the integrator holds the channel.
    await until(async () => (await tile(0, 0, 3))?.toString('hex') === leaves, { what: 'the first tile' });
    await append(3, 254);
    await test.integrator.catchUp(place.channel, 257);
    expect((await tile(0, 0, 3))?.toString('hex')).toBe(leaves);
    await until(async () => (await tile(0, 0, 256))?.length === 256 * 32, { what: 'the full tile' });
    expect(await tile(1, 0, 1)).toHaveLength(32);
    for (const [level, index, width] of [
      [0, 1, 2],
      [0, 2, 1],
      [1, 0, 2],
      [2, 0, 1],
    ] as const)
      expect(await tile(level, index, width)).toBeUndefined();
    expect(await test.ledger.tile('acme.nowhere', { level: 0, index: 0, width: 1 })).toBeUndefined();
  });

  it('looks tiles up by primary key, regardless of their number', async () => {
    const { channel } = newChannel();
    await test.sql.transaction(async (sql) => {
      await sql.query({
        text: `WITH c AS (INSERT INTO ledger.channels (channel, network) VALUES ($1, 'acme') RETURNING channel_id)
               INSERT INTO ledger.tiles (channel_id, level, tile, hashes)
               SELECT channel_id, 0, n, '\\x00' FROM c, generate_series(0, 999) n`,
        values: [channel],
      });
      const reads = async () => {
        const text = `SELECT seq_tup_read::int AS walked, idx_scan::int AS found FROM pg_stat_xact_user_tables
                       WHERE relid = 'ledger.tiles'::regclass`;
        return (await sql.query<{ walked: number; found: number }>({ text }))[0]!;
      };
      const before = await reads();
      const text = `SELECT ordinal FROM ledger.tiles($1, '{0,0,0,1}'::int2[], '{999,0,1000,0}')`;
      expect(await sql.query({ text, values: [channel] })).toEqual([{ ordinal: '1' }, { ordinal: '2' }]);
      expect(await reads()).toEqual({ walked: before.walked, found: before.found + 4 });
      const gone = `WITH t AS (DELETE FROM ledger.tiles USING ledger.channels c
                                WHERE c.channel_id = tiles.channel_id AND c.channel = $1)
                    DELETE FROM ledger.channels WHERE channel = $1`;
      await sql.query({ text: gone, values: [channel] });
    });
  });
});
