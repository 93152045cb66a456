import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { parseCheckpoint } from '@sealgate/merkle';
import { until } from '@sealgate/testing';
import { E1, LOST, lostChannel } from './testing/lost-channel.ts';
import { openTestArchive } from './testing/open-test-archive.ts';
import { openTestLedger, ORIGIN, type TestLedger } from './testing/open-test-ledger.ts';

describe('exploring a ledger', () => {
  let test: TestLedger;
  beforeAll(async () => {
    test = await openTestLedger();
  });
  afterAll(() => test.close());

  let channels = 0;
  const newChannel = () => `acme.x${String((channels += 1)).padStart(3, '0')}`;
  const write = (channel: string, ...ids: string[]) =>
    test.ledger.append({
      network: 'acme',
      channel,
      note: '{}',
      records: ids.map((id) => ({ id, type: 'asset', owner: 'me', data: '{"n":1}', extra: null })),
    });
  const explore = () => test.ledger.exploration;
  const timeOf = async (channel: string, id: string) => (await test.ledger.read(channel, id))!.at;

  it('reports how far a channel is signed, and since when records wait', async () => {
    const channel = newChannel();
    await test.ledger.openChannel('acme', channel);
    const empty = { channel, size: 0, signed: 0, signedUntil: undefined, unsignedSince: undefined, archived: 0 };
    expect(await explore().overview({ channel })).toEqual([empty]);
    await write(channel, 'a', 'b');
    await test.integrator.catchUp(channel, 2);
    const [a, b] = [await timeOf(channel, 'a'), await timeOf(channel, 'b')];
    const signed = { channel, size: 2, signed: 2, signedUntil: b, unsignedSince: undefined, archived: 0 };
    expect(await explore().overview({ channel })).toEqual([signed]);
    expect(a).toBe(b);
    await write(channel, 'c');
    await write(channel, 'd');
    const c = await timeOf(channel, 'c');
    expect(await explore().overview({ channel })).toEqual([{ ...signed, size: 4, unsignedSince: c }]);
    expect(await explore().unsigned()).toMatchObject({ what: 'unsigned_records', count: 2, oldestAt: new Date(c) });
    expect(await explore().overview({ channel: 'acme.never' })).toEqual([]);
  });

  it('lists channels by name, after a given one', async () => {
    const [one, two, three] = [newChannel(), newChannel(), newChannel()];
    for (const channel of [three, one, two]) await test.ledger.openChannel('acme', channel);
    const names = async (after: string, limit: number) =>
      (await explore().overview({ after, limit })).map(({ channel }) => channel);
    expect(await names(one, 2)).toEqual([two, three]);
    expect(await names(one, 1)).toEqual([two]);
    expect(await names(three, 9)).toEqual([]);
  });

  it('tells where and when a record was written, in the channels that are named', async () => {
    const [one, two, other] = [newChannel(), newChannel(), newChannel()];
    await write(one, 'x', 'wanted');
    await write(two, 'wanted');
    await write(other, 'wanted');
    const placeOf = async (channel: string, position: number) => ({
      network: 'acme',
      channel,
      position,
      at: new Date(await timeOf(channel, 'wanted')),
    });
    const places = await explore().placesOf('wanted', [one, two, 'acme.never']);
    expect(places).toEqual([await placeOf(one, 1), await placeOf(two, 0)]);
    expect(await explore().placesOf('nosuch', [one])).toEqual([]);
  });

  it('lists records newest first, below a position, without their contents', async () => {
    const channel = newChannel();
    await write(channel, 'a', 'b', 'c');
    await write(channel, 'd');
    await test.ledger.erase(channel, 'b', 'asked for');
    const page = await explore().list({ channel, below: undefined, limit: 3 });
    expect(page!.map(({ id, position, erased }) => [id, position, erased])).toEqual([
      ['d', 3, false],
      ['c', 2, false],
      ['b', 1, true],
    ]);
    const { transactionId, at, index } = (await test.ledger.read(channel, 'd'))!;
    expect(page![0]).toEqual({
      id: 'd',
      type: 'asset',
      owner: 'me',
      position: 3,
      index,
      transactionId,
      at,
      erased: false,
      archived: false,
    });
    const below = async (position: number) =>
      (await explore().list({ channel, below: position, limit: 3 }))!.map(({ id }) => id);
    expect(await below(1)).toEqual(['a']);
    expect(await below(0)).toEqual([]);
    expect(await below(1_000)).toEqual(['d', 'c', 'b']);
    expect(await explore().list({ channel: 'acme.never', below: undefined, limit: 3 })).toBeUndefined();
  });

  it('lists archived records without the values stored in files, and without their time', async () => {
    const of = await openTestArchive(test);
    try {
      await of.ledger.archiveRecords({ channel: of.channel, before: 512 });
      expect(await explore().overview({ channel: of.channel })).toMatchObject([{ archived: 512 }]);
      const page = await test.ledger.exploration.list({ channel: of.channel, below: 513, limit: 2 });
      expect(page).toMatchObject([
        { id: 'r512', archived: false, owner: 'me' },
        { id: 'r511', archived: true, owner: undefined, at: undefined },
      ]);
      const erased = await test.ledger.exploration.list({ channel: of.channel, below: 10, limit: 1 });
      expect(erased).toMatchObject([{ id: 'r9', archived: true, erased: true }]);
    } finally {
      of.close();
    }
  });

  it('lists the logs of a channel, including one without a checkpoint, and the published keys', async () => {
    const channel = newChannel();
    await write(channel, 'a');
    const log = { epoch: 0, origin: `${ORIGIN}/${channel}`, declaration: null };
    expect(await explore().logs(channel)).toEqual([{ ...log, checkpoint: undefined, published: undefined }]);
    await test.integrator.catchUp(channel, 1);
    const checkpoint = await test.ledger.checkpoint(channel);
    expect(await explore().logs(channel)).toEqual([{ ...log, checkpoint, published: checkpoint }]);
    expect(await explore().logs('acme.never')).toEqual([]);
    const { verifierKey } = test;
    const [name, keyId] = verifierKey.split('+');
    const { ledger } = test.reopen({ verifierKeys: [verifierKey] });
    expect(ledger.exploration.keys).toEqual({ origin: ORIGIN, keys: [{ verifierKey, name, keyId }] });
  });
});

describe('a ledger of twenty thousand channels', () => {
  let test: TestLedger;
  beforeAll(async () => {
    test = await openTestLedger();
    const channels = `INSERT INTO ledger.channels (channel, network, size)
      SELECT format('n%s.main', lpad(g::text, 5, '0')), 'n' || g, 3 FROM generate_series(1, 20000) g`;
    const checkpoints = `INSERT INTO ledger.checkpoints (channel_id, size, root, note)
      SELECT channel_id, 3, '', '' FROM ledger.channels`;
    for (const text of [channels, checkpoints, 'VACUUM ANALYZE ledger.channels', 'ANALYZE ledger.checkpoints'])
      await test.sql.query({ text }, { deadlineMs: 60_000 });
  }, 120_000);
  afterAll(() => test.close());

  /** Rows of tables that a call of the ledger's functions reads. */
  const rowsReadBy = (call: string) =>
    test.sql.transaction(async (sql) => {
      const readSoFar = async () => {
        const text = `SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int AS count
                        FROM pg_stat_xact_user_tables WHERE schemaname = 'ledger'`;
        return (await sql.query<{ count: number }>({ text }))[0]!.count;
      };
      const before = await readSoFar();
      const rows = await sql.query({ text: `SELECT * FROM ledger.${call}` });
      return { rows: rows.length, read: (await readSoFar()) - before };
    });

  it('reads one channel to show one, and a page to show a page', async () => {
    const one = await rowsReadBy(`channel('n10000.main')`);
    expect(one.rows).toBe(1);
    expect(one.read).toBeLessThanOrEqual(3);
    const page = await rowsReadBy(`channels('n10000.main', 200)`);
    expect(page.rows).toBe(200);
    expect(page.read).toBeLessThanOrEqual(401);
    expect(await rowsReadBy(`channel('n1.none')`)).toMatchObject({ rows: 0 });
  });

  it('is listed for a role that may read a few of them', async () => {
    class Undo extends Error {}
    const seen = async (call: string) => {
      let found: object[] = [];
      const work = test.sql.transaction(async (sql) => {
        const grants = `SELECT ledger.set_grants('few', 'test', '[{"channel": "n19999.main", "rights": ["read"]}]')`;
        const may = ['USAGE ON SCHEMA', 'EXECUTE ON ALL FUNCTIONS IN SCHEMA'].map(
          (what) => `GRANT ${what} ledger TO few`,
        );
        for (const text of ['CREATE ROLE few', grants, ...may, 'SET LOCAL SESSION AUTHORIZATION few'])
          await sql.query({ text });
        await sql.query({ text: 'SET LOCAL statement_timeout = 1000' });
        found = await sql.query({ text: `SELECT channel FROM ledger.${call}` });
        throw new Undo();
      });
      await expect(work).rejects.toThrow(Undo);
      return found;
    };
    expect(await seen(`channels('', 10)`)).toEqual([{ channel: 'n19999.main' }]);
    expect(await seen('logs()')).toEqual([{ channel: 'n19999.main' }]);
    expect(await seen(`channel('n19999.main')`)).toEqual([{ channel: 'n19999.main' }]);
    expect(await seen(`channel('n19998.main')`)).toEqual([]);
  });
});

describe('exploring a channel that lost records', () => {
  let test: TestLedger;
  beforeEach(async () => {
    test = await openTestLedger();
  }, 120_000);
  afterEach(() => test.close());

  it('counts in records of the channel, and each log shows its own checkpoint', async () => {
    const at = lostChannel(test);
    await at.loseRecords();
    await at.recover();
    await at.write('e', 'f');
    const { exploration } = test.ledger;
    const [overview] = await exploration.overview({ channel: LOST });
    // a and b survived; c and d, which the first log was signed over, did not.
    expect(overview).toMatchObject({ size: 4 });
    await at.sign(E1);
    // The integrator started by `recover` may hold the channel and signs it then.
    await until(async () => (await exploration.overview({ channel: LOST }))[0]?.signed === 4);
    expect(await exploration.overview({ channel: LOST })).toMatchObject([
      { size: 4, signed: 4, unsignedSince: undefined },
    ]);
    const page = await exploration.list({ channel: LOST, below: undefined, limit: 10 });
    expect(page!.map(({ id, position, index, epoch }) => [id, position, index, epoch])).toEqual([
      ['f', 3, 2, 1],
      ['e', 2, 1, 1],
      ['b', 1, 1, undefined],
      ['a', 0, 0, undefined],
    ]);
    const logs = await exploration.logs(LOST);
    expect(logs.map(({ epoch, checkpoint }) => [epoch, parseCheckpoint(checkpoint!).size])).toEqual([
      [0, 4],
      [1, 3],
    ]);
    expect(logs[1]!.declaration).toMatchObject({ epoch: 1, channel: LOST });
  }, 60_000);
});
