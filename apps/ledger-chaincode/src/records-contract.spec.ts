import { createHash } from 'node:crypto';
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
/** Canonical JSON text of this many bytes. */
const oneMebibyte = (letter: string) => JSON.stringify(letter.repeat(1024 * 1024 - 2));
const createMany = (...records: object[]) =>
  ledger.submit((context) => contract.createMany(context, JSON.stringify(records)));
const upsertMany = (...records: object[]) =>
  ledger.submit((context) => contract.upsertMany(context, JSON.stringify(records)));
const read = (id: string) => ledger.submit((context) => contract.read(context, id));
const history = (id: string) => ledger.submit((context) => contract.history(context, id));
const query = (type: string, pageSize: string, bookmark: string) =>
  ledger.submit((context) => contract.queryByType(context, type, pageSize, bookmark));
const page = async (type: string, pageSize: number, bookmark: string) => {
  const { records, bookmark: next } = JSON.parse(await query(type, String(pageSize), bookmark)) as {
    records: { id: string; version: number }[];
    bookmark: string;
  };
  return { ids: records.map(({ id }) => id), bookmark: next };
};

describe('createMany', () => {
  it('writes missing records and returns receipts in order', async () => {
    expect(JSON.parse(await createMany(record('b'), record('a')))).toEqual([
      { id: 'b', transactionId: 'tx-1', existing: false, version: 1 },
      { id: 'a', transactionId: 'tx-1', existing: false, version: 1 },
    ]);
  });

  it('returns the first receipt for the same content, and writes nothing', async () => {
    await createMany(record('a'));
    expect(JSON.parse(await createMany(record('a')))).toEqual([
      { id: 'a', transactionId: 'tx-1', existing: true, version: 1 },
    ]);
    expect(ledger.written).toEqual([]);
  });

  it('writes new records beside existing ones', async () => {
    await createMany(record('a'));
    expect(JSON.parse(await createMany(record('a'), record('b')))).toEqual([
      { id: 'a', transactionId: 'tx-1', existing: true, version: 1 },
      { id: 'b', transactionId: 'tx-2', existing: false, version: 1 },
    ]);
  });

  it.each([
    ['data', { data: '{"n":2}' }],
    ['type', { type: 'letter' }],
    ['owner', { owner: 'me' }],
    ['extra', { extra: '{}' }],
  ])('rejects the whole transaction if an id holds other content: %s', async (_member, change) => {
    await createMany(record('a'));
    await expect(createMany(record('b'), record('a', change))).rejects.toThrow('RECORD_CONFLICT:{"id":"a"}');
    expect(await read('b')).toBe('');
  });

  it('returns the id in machine-readable form, whatever characters it has', async () => {
    const id = 'a"}:{\u{10ffff}\\';
    await createMany(record(id));
    const refusal = await createMany(record(id, { data: '[]' })).catch((error: unknown) => (error as Error).message);
    expect(refusal).toMatch(/^RECORD_CONFLICT:/);
    expect(JSON.parse(String(refusal).slice('RECORD_CONFLICT:'.length))).toEqual({ id });
  });

  it('treats the text null in extra as no extra', async () => {
    await createMany(record('a', { extra: 'null' }));
    expect(JSON.parse(await createMany(record('a')))).toMatchObject([{ existing: true }]);
  });
});

describe('a transaction', () => {
  it('writes and returns the same bytes on every peer', async () => {
    const run = async () => {
      const peer = new MemoryLedger();
      const argument = JSON.stringify([record('b', { data: '{"z":1,"é":[2]}' }), record('a', { owner: 'ä' })]);
      const answer = await peer.submit((context) => contract.createMany(context, argument));
      return { answer, state: peer.keys().map((key) => [key, peer.value(key)]) };
    };
    const first = await run();
    const { TZ } = process.env;
    process.env['TZ'] = 'Pacific/Kiritimati';
    const second = await run().finally(() => {
      if (TZ === undefined) delete process.env['TZ'];
      else process.env['TZ'] = TZ;
    });
    expect(second).toEqual(first);
    expect(first.state).toHaveLength(4);
  });
});

describe('upsertMany', () => {
  it('creates a version for other content, and returns the receipt for unchanged content', async () => {
    expect(JSON.parse(await upsertMany(record('a')))).toMatchObject([{ transactionId: 'tx-1', version: 1 }]);
    expect(JSON.parse(await upsertMany(record('a', { data: '{"n":2}' })))).toEqual([
      { id: 'a', transactionId: 'tx-2', existing: false, version: 2 },
    ]);
    expect(JSON.parse(await upsertMany(record('a', { data: '{"n":2}' })))).toEqual([
      { id: 'a', transactionId: 'tx-2', existing: true, version: 2 },
    ]);
    expect(JSON.parse(await upsertMany(record('a')))).toMatchObject([{ existing: false, version: 3 }]);
  });

  it('lists a record whose type changed under the new type only', async () => {
    await upsertMany(record('a'));
    await upsertMany(record('a', { type: 'letter' }));
    expect(await page('note', 10, '')).toEqual({ ids: [], bookmark: '' });
    expect(await page('letter', 10, '')).toEqual({ ids: ['a'], bookmark: '' });
    expect(JSON.parse(await read('a'))).toMatchObject({ type: 'letter', version: 2 });
  });
});

describe('read', () => {
  it('returns no bytes for an unknown id', async () => {
    expect(await read('nobody')).toBe('');
  });

  it('returns the newest version with data and extra as values', async () => {
    ledger.time = new Date('2026-03-01T12:00:00.007Z');
    await createMany(record('a', { owner: 'me', data: '{"deep":[1,{"x":null}]}', extra: '["e"]' }));
    // RFC 8785 by hand: sorted members, no whitespace.
    const content = '{"data":{"deep":[1,{"x":null}]},"extra":["e"],"owner":"me","type":"note"}';
    expect(JSON.parse(await read('a'))).toEqual({
      id: 'a',
      type: 'note',
      owner: 'me',
      data: { deep: [1, { x: null }] },
      extra: ['e'],
      version: 1,
      contentHash: createHash('sha256').update(content).digest('hex'),
      transactionId: 'tx-1',
      at: '2026-03-01T12:00:00.007Z',
    });
  });

  it('refuses a time that no record can hold', async () => {
    ledger.time = new Date(8.64e15);
    await expect(createMany(record('a'))).rejects.toThrow(/^INVALID_REQUEST:.*timestamp/);
  });
});

describe('queryByType', () => {
  it('pages by id in code-point order, and has a bookmark on every page but the last', async () => {
    // UTF-16 would sort U+FFFD after U+10000; a prefix sorts before longer ids.
    const ids = [
      '',
      ' ',
      '!',
      '/',
      '0',
      'a',
      'a!',
      'a/b',
      'ab',
      'b',
      '\u00e9',
      '\ufffd',
      '\u{10000}',
      '\u{10ffff}',
    ].slice(1);
    await createMany(...ids.toReversed().map((id) => record(id)), record('other', { type: 'note/' }));
    const seen: string[] = [];
    let bookmark = '';
    for (let pages = 0; pages < 5; pages += 1) {
      const next = await page('note', 3, bookmark);
      seen.push(...next.ids);
      bookmark = next.bookmark;
      expect(bookmark === '').toBe(pages === 4);
    }
    expect(seen).toEqual(ids);
  });

  it('has no bookmark when the page is full and the last', async () => {
    await createMany(record('a'), record('b'));
    expect(await page('note', 2, '')).toEqual({ ids: ['a', 'b'], bookmark: '' });
  });

  it('gives a shorter page when the records are large, and at least one', async () => {
    await createMany(record('a'), record('b', { data: oneMebibyte('b') }));
    await createMany(record('c', { data: oneMebibyte('c') }), record('d', { data: oneMebibyte('d') }));
    await createMany(record('e', { data: JSON.stringify('e'.repeat(4 * 1024 * 1024)) }), record('f'));
    expect(await page('note', 10, '')).toEqual({ ids: ['a', 'b', 'c'], bookmark: 'c' });
    expect(await page('note', 10, 'c')).toEqual({ ids: ['d'], bookmark: 'd' });
    expect(await page('note', 10, 'd')).toEqual({ ids: ['e'], bookmark: 'e' });
    expect(await page('note', 10, 'e')).toEqual({ ids: ['f'], bookmark: '' });
  });

  it('gives a page of a thousand, and one more is another page', async () => {
    const ids = Array.from({ length: 1001 }, (_, n) => String(n).padStart(4, '0'));
    await createMany(...ids.slice(1).map((id) => record(id)));
    expect(await page('note', 1000, '')).toEqual({ ids: ids.slice(1), bookmark: '' });
    await createMany(record(ids[0]!));
    expect(await page('note', 1000, '')).toEqual({ ids: ids.slice(0, -1), bookmark: ids.at(-2) });
  });

  it('goes on from a bookmark whatever was written meanwhile', async () => {
    await createMany(record('a'), record('c'), record('e'));
    expect(await page('note', 2, '')).toEqual({ ids: ['a', 'c'], bookmark: 'c' });
    await createMany(record('b'), record('d'));
    expect(await page('note', 2, 'c')).toEqual({ ids: ['d', 'e'], bookmark: '' });
  });

  it.each([
    ['a page of none', 'note', '0', ''],
    ['a page of too many', 'note', '1001', ''],
    ['a page size that is no number', 'note', '1e2', ''],
    ['no type', '', '10', ''],
    ['a type that is too long', 't'.repeat(257), '10', ''],
    ['a bookmark that no id is', 'note', '10', '\u0000'],
  ])('rejects %s', async (_what, type, pageSize, bookmark) => {
    await expect(query(type, pageSize, bookmark)).rejects.toThrow(/^INVALID_REQUEST:\{"detail":/);
  });
});

describe('history', () => {
  it('returns every version, newest first, across type changes', async () => {
    await upsertMany(record('a'));
    await upsertMany(record('a', { type: 'letter' }));
    await upsertMany(record('a', { data: '{"n":3}' }));
    expect(JSON.parse(await history('a'))).toMatchObject({
      versions: [
        { version: 3, type: 'note', data: { n: 3 }, transactionId: 'tx-3' },
        { version: 2, type: 'letter', data: { n: 1 }, transactionId: 'tx-2' },
        { version: 1, type: 'note', data: { n: 1 }, transactionId: 'tx-1' },
      ],
      complete: true,
    });
  });

  it('returns none for an unknown id', async () => {
    expect(JSON.parse(await history('nobody'))).toEqual({ versions: [], complete: true });
  });

  it('omits the oldest versions above the limit, and reports that', async () => {
    for (let n = 1; n <= 1001; n += 1) await upsertMany(record('a', { data: String(n) }));
    const { versions, complete } = JSON.parse(await history('a')) as {
      versions: { data: number }[];
      complete: boolean;
    };
    expect([versions.length, versions[0]!.data, versions.at(-1)!.data, complete]).toEqual([1000, 1001, 2, false]);
  });

  it('omits versions that would make the response too large', async () => {
    for (const letter of ['a', 'b', 'c']) await upsertMany(record('a', { data: oneMebibyte(letter) }));
    await upsertMany(record('a', { data: '0' }));
    const { versions, complete } = JSON.parse(await history('a')) as {
      versions: { version: number }[];
      complete: boolean;
    };
    expect([versions.map(({ version }) => version), complete]).toEqual([[4, 3, 2], false]);
  });
});

describe('an id', () => {
  it.each([
    ['is empty', ''],
    ['is too long', '\u{1f600}'.repeat(513)],
    ['holds U+0000', 'a\u0000'],
    ['holds U+001F', '\u001f'],
    ['holds U+007F', 'a\u007fb'],
    ['is half of a pair', '\ud800'],
  ])('is rejected if it %s', async (_what, id) => {
    await expect(read(id)).rejects.toThrow(/^INVALID_REQUEST:/);
    await expect(history(id)).rejects.toThrow(/^INVALID_REQUEST:/);
  });

  it.each([['.'], ['..'], ['\u{10ffff}'.repeat(512)], ['i/61'], ['__proto__'], ['\u0080']])(
    'may be %j, which surfaces may reject',
    async (id) => {
      await createMany(record(id));
      expect(JSON.parse(await read(id))).toMatchObject({ id });
      expect((await page('note', 5, '')).ids).toEqual([id]);
    },
  );
});
