import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { LedgerForbiddenError, LedgerUnavailableError } from '@sealgate/ledger-port';
import { entriesOf, parseCheckpoint } from '@sealgate/merkle';
import { forClient, openDatabase, type Database } from '@sealgate/storage';
import fc from 'fast-check';
import type { EmbeddedLedger, EmbeddedLedgerOptions } from './embedded-ledger.ts';
import { openTestLedger, type TestLedger } from './testing/open-test-ledger.ts';

const FULL = { index: 0, width: 256 };
const TILE = { level: 0, ...FULL };
const MANY = Array.from({ length: 40 });

let test: TestLedger;
beforeAll(async () => {
  test = await openTestLedger();
}, 120_000);
afterAll(() => test.close());

let channels = 0;
const newChannel = (): string => `acme.p${(channels += 1)}`;
const recordOf = (id: string, data = `{"of":"${id}"}`) => ({ id, type: 'asset', owner: null, data, extra: null });

/** Appends records until the channel has so many, and waits until they are signed. */
async function grow(channel: string, size: number, ledger = test.ledger): Promise<void> {
  const has = Number((await ledger.exploration.overview({ channel }))[0]?.size ?? 0);
  const records = Array.from({ length: size - has }, (_, n) => recordOf(`r${has + n}`));
  if (records.length > 0) await ledger.append({ network: 'acme', channel, note: '', records });
  await signed(channel, size);
}

async function signed(channel: string, size: number): Promise<void> {
  for (;;) {
    await test.integrator.catchUp(channel, size);
    const note = await test.ledger.checkpoint(channel);
    if (note !== undefined && parseCheckpoint(note).size >= size) return;
  }
}

/** A process whose clock the test moves, and the statements of its reads by name. */
function openCounted(more: Partial<EmbeddedLedgerOptions> = {}, sql: Database = test.sql) {
  let nowMs = Date.now();
  const statements: { name: string | undefined; values: readonly unknown[] }[] = [];
  const look: Database = {
    ...sql,
    query: (statement, options) => {
      statements.push({ name: statement.name, values: statement.values ?? [] });
      return sql.query(statement, options);
    },
  };
  const { ledger } = test.reopen({ look, now: () => nowMs, ...more });
  const counts = (): Record<string, number> => {
    // Reads of no entries ask only for the right and the archive.
    const named = statements.map(({ name, values }) => (values[2] === 0 ? 'ledger archived' : (name ?? '')));
    return Object.fromEntries([...Map.groupBy(named, (name) => name)].map(([name, of]) => [name, of.length]));
  };
  const pass = (ms: number) => void (nowMs += ms);
  return { ledger, counts, pass };
}

describe('the public log', () => {
  it('costs one statement for the bytes, however many callers read a bundle while records are written', async () => {
    const channel = newChannel();
    await grow(channel, 300);
    const { ledger, counts } = openCounted();
    let isOver = false;
    let reads = 0;
    const readers = MANY.map(async () => {
      for (; !isOver; reads += 1) {
        expect((await ledger.entries(channel, FULL))!.isKept).toBe(true);
        expect(await ledger.tile(channel, TILE)).toHaveLength(8192);
        await nextTurn(); // What comes from memory leaves no turn to the database.
      }
    });
    // Every reader has read before and after a write, also on a slow machine.
    for (let n = 0; n < 25 || reads <= 2 * MANY.length; n += 1)
      await test.ledger.append({ network: 'acme', channel, note: '', records: [recordOf(`w${n}`)] });
    isOver = true;
    await Promise.all(readers);
    // One tile verifies the bundle, the other was asked for.
    expect(counts()).toEqual({ 'ledger checkpoint': 1, 'ledger tiles': 2, 'ledger archived': 1, 'ledger entries': 1 });
  });

  it('asks for checkpoint and right once a second, and for the bytes once a minute', async () => {
    const channel = newChannel();
    await grow(channel, 256);
    const { ledger, counts, pass } = openCounted();
    const read = () => Promise.all(MANY.map(() => ledger.entries(channel, FULL)));
    await read();
    for (let second = 0; second < 59; second += 1) {
      pass(1000);
      await read();
    }
    expect(counts()).toMatchObject({ 'ledger entries': 1, 'ledger tiles': 1 });
    expect(counts()['ledger checkpoint']).toBeLessThanOrEqual(60);
    pass(1000);
    await read();
    expect(counts()).toMatchObject({ 'ledger entries': 2 });
  });

  it('is read again for what the cache has no room for', async () => {
    const channel = newChannel();
    await grow(channel, 512);
    const bundle = (await test.ledger.entries(channel, FULL))!.bytes.length;
    const { ledger, counts } = openCounted({ cacheBytes: 3 * bundle + 1024 });
    for (let n = 0; n < 3; n += 1)
      for (const index of [0, 1]) expect(await ledger.entries(channel, { index, width: 256 })).toBeDefined();
    expect(counts()).toMatchObject({ 'ledger entries': 6 });
    await ledger.entries(channel, { index: 1, width: 256 });
    expect(counts()).toMatchObject({ 'ledger entries': 6 });
  });

  it('grows by one read for all widths, and by none for narrower ones', async () => {
    const channel = newChannel();
    await grow(channel, 10);
    const { ledger, counts } = openCounted();
    const widths = async (most: number) => {
      for (let width = most; width > 0; width -= 1) {
        expect(await ledger.tile(channel, { level: 0, index: 0, width })).toHaveLength(width * 32);
        const { bytes, isKept } = (await ledger.entries(channel, { index: 0, width }))!;
        expect([entriesOf(bytes).length, isKept]).toEqual([width, width === most]);
      }
    };
    await widths(10);
    expect(await ledger.tile(channel, { level: 0, index: 0, width: 11 })).toBeUndefined();
    await grow(channel, 40);
    await widths(40);
    expect(counts()).toMatchObject({ 'ledger entries': 2, 'ledger tiles': 2 });
  });

  it('never answers with a checkpoint from before the call, and reads once for those who wait', async () => {
    const channel = newChannel();
    await grow(channel, 1);
    const { ledger, counts } = openCounted();
    for (let size = 2; size < 8; size += 1) {
      const older = MANY.map(() => ledger.checkpoint(channel));
      await grow(channel, size);
      const notes = await Promise.all(MANY.map(() => ledger.checkpoint(channel)));
      for (const note of notes) expect(parseCheckpoint(note!).size).toBe(size);
      await Promise.all(older);
    }
    // Each round asks twice: one that runs, and one that the others share.
    expect(counts()['ledger published']).toBeLessThanOrEqual(6 * 2 * 2);
  });

  it('shows nothing of an erased record, and the same bytes as before', async () => {
    const channel = newChannel();
    await grow(channel, 20);
    const { ledger } = openCounted();
    const bundle = { index: 0, width: 20 };
    const before = (await ledger.entries(channel, bundle))!.bytes;
    await test.ledger.erase(channel, 'r7', 'asked for');
    expect((await ledger.entries(channel, bundle))!.bytes).toEqual(before);
    expect((await openCounted().ledger.entries(channel, bundle))!.bytes).toEqual(before);
    expect(before.toString('latin1')).not.toContain('"of"');
  });

  it('reads a bundle of large records in several statements', async () => {
    const channel = newChannel();
    const large = JSON.stringify('x'.repeat(6 * 1024 * 1024));
    for (let n = 0; n < 4; n += 1)
      await test.ledger.append({ network: 'acme', channel, note: '', records: [recordOf(`r${n}`, large)] });
    await signed(channel, 4);
    const { ledger, counts } = openCounted();
    const { bytes } = (await ledger.entries(channel, { index: 0, width: 4 }))!;
    expect(entriesOf(bytes).map((entry) => (JSON.parse(entry.toString()) as { id: string }).id)).toEqual([
      'r0',
      'r1',
      'r2',
      'r3',
    ]);
    // Two of them fit into 16 MiB.
    expect(counts()).toMatchObject({ 'ledger entries': 2 });
  });
});

describe('what the cache holds', () => {
  it('is not served to a role that lost its right, a second later', async () => {
    const channel = newChannel();
    await grow(channel, 5);
    await test.sql.query({ text: `CREATE ROLE reader LOGIN PASSWORD 'reader'` });
    await test.sql.query({ text: 'GRANT USAGE ON SCHEMA ledger TO reader' });
    await test.sql.query({ text: 'GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA ledger TO reader' });
    const grant = (rights: string) => `INSERT INTO ledger.grants VALUES ('reader', 'test', '${channel}', '${rights}')`;
    await test.sql.query({ text: grant('{read}') });
    const url = Object.assign(new URL(test.url), { username: 'reader', password: 'reader' }).href;
    const options = { applicationName: 'reader', maxConnections: 2, connectTimeoutMs: 5000, deadlineMs: 5000 };
    const sql = openDatabase({ ...options, url });
    try {
      const { ledger, pass } = openCounted({ sql }, sql);
      const bundle = { index: 0, width: 5 };
      expect(await ledger.entries(channel, bundle)).toBeDefined();
      await test.sql.query({ text: `DELETE FROM ledger.grants WHERE role = 'reader'` });
      pass(1001);
      await expect(ledger.entries(channel, bundle)).rejects.toThrow(LedgerForbiddenError);
      // Hashes are open to every role of the ledger.
      expect(await ledger.tile(channel, { level: 0, ...bundle })).toHaveLength(160);
      await test.sql.query({ text: grant('{read}') });
      expect(await ledger.entries(channel, bundle)).toBeDefined();
    } finally {
      await sql.close();
      await test.sql.query({ text: `DELETE FROM ledger.grants WHERE role = 'reader'` });
    }
  });

  it('is dropped once a log has shrunk, as after a restore of an older copy', async () => {
    const channel = newChannel();
    const OURS = `channel_id = (SELECT channel_id FROM ledger.channels WHERE channel = '${channel}')`;
    await grow(channel, 256);
    const [older] = await test.sql.query({ text: `SELECT size, root, note FROM ledger.checkpoints WHERE ${OURS}` });
    await grow(channel, 300);
    const { ledger, counts, pass } = openCounted();
    expect(await ledger.tile(channel, { level: 0, index: 1, width: 44 })).toHaveLength(44 * 32);
    expect(await ledger.tile(channel, TILE)).toHaveLength(8192);
    await test.sql.query({
      text: `UPDATE ledger.checkpoints SET size = $1, root = $2, note = $3 WHERE ${OURS}`,
      values: Object.values(older!),
    });
    pass(1001);
    expect(await ledger.tile(channel, TILE)).toHaveLength(8192);
    expect(counts()).toMatchObject({ 'ledger tiles': 3 });
    expect(await ledger.tile(channel, { level: 0, index: 1, width: 44 })).toBeUndefined();
  });

  it('is not served while the checkpoint of the log is not ours, or the database is away', async () => {
    const channel = newChannel();
    const OURS = `channel_id = (SELECT channel_id FROM ledger.channels WHERE channel = '${channel}')`;
    await grow(channel, 256);
    const { ledger, pass } = openCounted();
    await ledger.tile(channel, TILE);
    const edit = (text: string) => test.sql.query({ text: `UPDATE ledger.checkpoints SET ${text} WHERE ${OURS}` });
    await edit(`note = replace(note, '— ', '— x')`);
    pass(1001);
    await expect(ledger.tile(channel, TILE)).rejects.toThrow(LedgerUnavailableError);
    await edit(`note = replace(note, '— x', '— ')`);
    expect(await ledger.tile(channel, TILE)).toHaveLength(8192);

    const options = { applicationName: 'away', maxConnections: 2, connectTimeoutMs: 5000, deadlineMs: 5000 };
    const sql = openDatabase({ ...options, url: test.url });
    const away = openCounted({ sql }, sql);
    await away.ledger.tile(channel, TILE);
    await sql.close();
    away.pass(1001);
    await expect(away.ledger.tile(channel, TILE)).rejects.toThrow(LedgerUnavailableError);
  });

  it('is read for all who wait, also if the first of them has gone', async () => {
    const channel = newChannel();
    await grow(channel, 256);
    const options = { applicationName: 'look', maxConnections: 3, connectTimeoutMs: 5000, deadlineMs: 5000 };
    const look = openDatabase({ ...options, url: test.url, looking: { statementTimeoutMs: 4000 } });
    try {
      const { ledger } = test.reopen({ look });
      const client = new AbortController();
      const first = await test.sql.transaction(async (sql) => {
        await sql.query({ text: 'LOCK TABLE ledger.checkpoints, ledger.tiles' });
        const reads = forClient(client, () => [ledger.tile(channel, TILE), ledger.checkpoint(channel)]);
        const others = [ledger.tile(channel, TILE), ledger.checkpoint(channel)];
        client.abort();
        // Longer than a statement goes on for a client that has gone.
        await delay(150);
        return [...reads, ...others];
      });
      for (const read of first) expect(await read).toBeDefined();
    } finally {
      await look.close();
    }
  });

  it('answers like a process without a cache, for every sequence of writes, reads, erasures and pauses', async () => {
    const place = { level: fc.constantFrom(0, 0, 0, 1), index: fc.constantFrom(0, 1, 2) };
    const step = fc.oneof(
      fc.record({ do: fc.constant('write' as const), count: fc.integer({ min: 1, max: 200 }) }),
      fc.record({ do: fc.constant('erase' as const), at: fc.nat({ max: 400 }) }),
      fc.record({ do: fc.constant('pause' as const), ms: fc.constantFrom(100, 600, 1001, 61_000) }),
      fc.record({ do: fc.constant('read' as const), ...place, width: fc.constantFrom(1, 7, 100, 200, 255, 256) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 25 }), async (steps) => {
        const channel = newChannel();
        // A bundle or two fit.
        const { ledger, pass } = openCounted({ cacheBytes: 200_000 });
        let size = 0;
        for (const made of steps) {
          if (made.do === 'write') await grow(channel, (size += made.count));
          else if (made.do === 'erase') await test.ledger.erase(channel, `r${made.at}`, 'asked for');
          else if (made.do === 'pause') pass(made.ms);
          else expect(await answers(ledger, channel, made)).toEqual(await answers(fresh(), channel, made));
        }
      }),
      { numRuns: 25 },
    );
  }, 120_000);
});

const fresh = (): EmbeddedLedger => test.reopen().ledger;

async function answers(
  ledger: EmbeddedLedger,
  channel: string,
  { level, index, width }: { level: number; index: number; width: number },
) {
  const tile = await ledger.tile(channel, { level, index, width });
  const entries = await ledger.entries(channel, { index, width });
  return [tile?.toString('hex'), entries?.bytes.toString('latin1'), await ledger.checkpoint(channel)];
}
