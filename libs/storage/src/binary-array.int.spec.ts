import { beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { gatedDatabases } from './testing/gated-databases.ts';
import { byteaArray, ElementWriter, int4Array, int8Array, joinedArray, textArray, type Database } from './index.ts';

const { open, server } = gatedDatabases();
let database: Database;

beforeEach(() => {
  database = open({ url: server().url, connectTimeoutMs: 10_000, deadlineMs: 10_000 });
});

/** The array parameter as the server reads it. */
async function readAs<Value>(type: string, array: Buffer): Promise<Value[]> {
  const [row] = await database.query<{ value: Value[] }>({ text: `SELECT $1::${type}[] AS value`, values: [array] });
  return row!.value;
}

const orNull = <Value>(values: fc.Arbitrary<Value>): fc.Arbitrary<(Value | null)[]> =>
  fc.array(fc.option(values), { maxLength: 20 });
/** Text that PostgreSQL accepts: no U+0000 and no lone surrogate. */
const text = fc.string({ unit: 'binary' }).map((value) => value.replaceAll('\0', ''));
const runs = { numRuns: 50 };

describe('a binary array parameter', () => {
  it('round-trips any text', async () => {
    const law = fc.asyncProperty(orNull(text), async (values) => {
      expect(await readAs('text', textArray(values))).toEqual(values);
    });
    await fc.assert(law, runs);
  });

  it('round-trips bytes, also a large value and one after it', async () => {
    const law = fc.asyncProperty(orNull(fc.uint8Array({ maxLength: 300 })), async (values) => {
      const wanted = values.map((value) => (value === null ? null : Buffer.from(value)));
      expect(await readAs('bytea', byteaArray(values))).toEqual(wanted);
    });
    await fc.assert(law, runs);
    const large = Buffer.alloc(3 * 1024 * 1024, 7);
    const [first, second] = [byteaArray([large, null]), byteaArray([Buffer.of(1)])];
    expect((await readAs<Buffer>('bytea', first))[0]!.equals(large)).toBe(true);
    expect(await readAs('bytea', second)).toEqual([Buffer.of(1)]);
  });

  it('round-trips numbers up to the largest safe integer', async () => {
    const int4 = fc.asyncProperty(fc.array(fc.integer()), async (values) => {
      expect(await readAs('integer', int4Array(values))).toEqual(values);
    });
    await fc.assert(int4, runs);
    const int8 = fc.asyncProperty(orNull(fc.maxSafeInteger()), async (values) => {
      const wanted = values.map((value) => (value === null ? null : String(value)));
      expect(await readAs('bigint', int8Array(values))).toEqual(wanted);
    });
    await fc.assert(int8, runs);
  });

  it('is joined from chunks written before', async () => {
    const writer = new ElementWriter(4);
    writer.text('first');
    writer.text(null);
    const chunk = writer.take();
    writer.text('third');
    expect(await readAs('text', joinedArray('text', 3, [chunk, writer.take()]))).toEqual(['first', null, 'third']);
  });
});
