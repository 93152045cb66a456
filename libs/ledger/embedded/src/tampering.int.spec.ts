import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { openTestLedger, type TestLedger } from './testing/open-test-ledger.ts';

/** Each row is an attacker who owns the tables: a channel is written, signed, spoilt and audited. */
let test: TestLedger;
let channel: string;
let channels = 0;

const CHANNEL_ID = '(SELECT channel_id FROM ledger.channels WHERE channel = $1)';
const SIZE = 300;
const TABLES = 'records record_ids claims tiles checkpoints erasures record_types record_types_upto'.split(' ');

beforeAll(async () => {
  test = await openTestLedger();
});

afterAll(() => test.close());

beforeEach(async () => {
  channel = `acme.t${(channels += 1)}`;
  const record = (n: number) => ({
    id: `r${n}`,
    type: 'asset',
    owner: n % 2 === 0 ? 'me' : null,
    data: `{"n":${n}}`,
    extra: n % 3 === 0 ? '{"x":1}' : null,
  });
  const claim = () => ({ claim: randomBytes(32), fingerprint: 's1:f', acceptable: ['s1:f'] });
  const unit = { network: 'acme', channel, note: '{"eventId":"evt"}' };
  await test.ledger.append({ ...unit, claim: claim(), records: Array.from({ length: SIZE - 1 }, (_, n) => record(n)) });
  await test.ledger.append({ ...unit, claim: claim(), records: [record(5), record(SIZE - 1)] });
  await test.ledger.prove(channel, 'r5');
  await test.ledger.query({ channel, type: 'asset', afterId: '', limit: 1 });
  await test.ledger.erase(channel, 'r7', 'asked for', { actor: 'admin:01234567', requestId: 'req_1' });
  expect(await test.ledger.audit(channel)).toEqual({ ok: true, size: SIZE, firstBadRecordId: null, problem: null });
});

/** What belongs to no channel would be found by the audits of all that follow. */
afterEach(async () => {
  for (const table of TABLES) {
    await test.sql.query({
      text: `DELETE FROM ledger.${table} WHERE channel_id NOT IN (SELECT channel_id FROM ledger.channels)`,
    });
  }
});

const spoil = (text: string, ...values: unknown[]) => test.sql.query({ text, values: [channel, ...values] });

const flipByte = (column: string) => `set_byte(${column}, 3, get_byte(${column}, 3) # 1)`;
const flipText = (column: string) =>
  `overlay(${column} placing (CASE WHEN left(${column}, 1) = '~' THEN '!' ELSE '~' END) from 1 for 1)`;
const row = (table: string, where: string) => (set: string) =>
  `UPDATE ledger.${table} SET ${set} WHERE channel_id = ${CHANNEL_ID} AND ${where}`;
const record4 = row('records', 'idx = 4');
const first = row('claims', 'first_index IS NOT NULL');
const mixed = row('claims', 'first_index IS NULL');
const tile = row('tiles', 'level = 0 AND tile = 0');
const checkpoint = row('checkpoints', 'true');
const erasure = row('erasures', 'true');

const edits: [column: string, statement: string, firstBadRecordId: string | null][] = [
  ['records.channel_id', record4('channel_id = 999999'), 'r4'],
  ['records.idx', record4('idx = 1048575'), 'r4'],
  ['records.id', record4(`id = ${flipText('id')}`), '~4'],
  ['records.type', record4(`type = ${flipText('type')}`), 'r4'],
  ['records.owner', record4(`owner = ${flipText('owner')}`), 'r4'],
  ['records.owner to null', record4('owner = NULL'), 'r4'],
  ['records.data', record4(`data = '{"n":5}'`), 'r4'],
  ['records.extra', row('records', 'idx = 3')(`extra = '{"x":2}'`), 'r3'],
  ['records.extra to null', row('records', 'idx = 3')('extra = NULL'), 'r3'],
  ['records.salt', record4(`salt = ${flipByte('salt')}`), 'r4'],
  ['records.salt to null', record4('salt = NULL'), 'r4'],
  ['records.data and salt to null', record4('salt = NULL, data = NULL, extra = NULL'), 'r4'],
  ['records.data_hash', record4(`data_hash = ${flipByte('data_hash')}`), 'r4'],
  ['records.leaf_hash', record4(`leaf_hash = ${flipByte('leaf_hash')}`), 'r4'],
  ['records.transaction_id', record4(`transaction_id = ${flipByte('transaction_id')}`), 'r4'],
  ['records.at_ms', record4('at_ms = at_ms + 1'), 'r4'],
  ['record_ids.channel_id', row('record_ids', `id = 'r4'`)('channel_id = 999999'), 'r4'],
  ['record_ids.id', row('record_ids', `id = 'r4'`)(`id = 'r4x'`), 'r4'],
  ['record_ids.idx', row('record_ids', `id = 'r4'`)('idx = 3'), 'r4'],
  ['claims.claim', first(`claim = ${flipByte('claim')}`), 'r0'],
  ['claims.fingerprint', first(`fingerprint = 's1:g'`), 'r0'],
  ['claims.transaction_id', first(`transaction_id = ${flipByte('transaction_id')}`), 'r0'],
  ['claims.nonce', first(`nonce = ${flipByte('nonce')}`), 'r0'],
  ['claims.channel_id', first('channel_id = 999999'), null],
  ['claims.first_index', first('first_index = first_index + 1'), 'r1'],
  ['claims.record_count', first('record_count = record_count - 1'), 'r0'],
  ['claims.indexes', mixed('indexes = ARRAY[4, indexes[2]]'), 'r4'],
  ['claims.note', first(`note = '{"eventId":"ev2"}'`), 'r0'],
  ['tiles.channel_id', tile('channel_id = 999999'), null],
  ['tiles.level', tile('level = 5'), null],
  ['tiles.tile', tile('tile = 77'), null],
  ['tiles.hashes', tile(`hashes = set_byte(hashes, 32 * 9, get_byte(hashes, 32 * 9) # 1)`), 'r9'],
  ['tiles.hashes of the right edge', row('tiles', 'level = 0 AND tile = 1')(`hashes = ${flipByte('hashes')}`), 'r256'],
  ['tiles.hashes of level 1', row('tiles', 'level = 1')(`hashes = ${flipByte('hashes')}`), null],
  ['checkpoints.size', checkpoint('size = size - 1'), null],
  ['checkpoints.root', checkpoint(`root = ${flipByte('root')}`), null],
  ['checkpoints.note', checkpoint(`note = overlay(note placing 'x' from 3 for 1)`), null],
  ['checkpoints.channel_id', checkpoint('channel_id = 999999'), null],
  ['erasures.idx', erasure('idx = 8'), 'r7'],
  ['erasures.reason', erasure(`reason = 'nobody asked'`), null],
  ['erasures.at_ms', erasure('at_ms = at_ms + 1'), null],
  ['erasures.erased_by', erasure(`erased_by = 'nobody'`), null],
  ['erasures.actor', erasure(`actor = 'nobody'`), null],
  ['erasures.request_id', erasure('request_id = NULL'), null],
  ['erasures.row_hash', erasure(`row_hash = ${flipByte('row_hash')}`), null],
  ['erasures.channel_id', erasure('channel_id = 999999'), 'r7'],
  ['channels.size up', row('channels', 'true')('size = size + 1'), null],
  ['channels.size down', row('channels', 'true')('size = size - 1'), null],
  ['channels.network', row('channels', 'true')(`network = 'acmf'`), 'r0'],
  ['record_types.id', row('record_types', `id = 'r4'`)(`id = 'r4x'`), null],
  ['record_types.type', row('record_types', `id = 'r4'`)(`type = 'x'`), null],
  ['record_types.idx', row('record_types', `id = 'r4'`)('idx = 3'), null],
  ['record_types.channel_id', row('record_types', `id = 'r4'`)('channel_id = 999999'), null],
  ['record_types_upto.channel_id', row('record_types_upto', 'true')('channel_id = 999999'), null],
  ['record_types_upto.upto', row('record_types_upto', 'true')('upto = upto - 1'), null],
];

describe('an edit of one column is named by the audit', () => {
  it.each(edits)('%s', async (_, statement, firstBadRecordId) => {
    await spoil(statement);
    const report = await test.ledger.audit(channel);
    expect(report).toMatchObject({ ok: false, firstBadRecordId, problem: expect.stringMatching(/\w/) });
  });

  it('covers every column of every table of the ledger', async () => {
    const columns = await test.sql.query<{ name: string }>({
      text: `SELECT t.relname || '.' || a.attname AS name FROM pg_class t JOIN pg_attribute a ON a.attrelid = t.oid
              WHERE t.relnamespace = 'ledger'::regnamespace AND t.relkind IN ('r', 'p') AND NOT t.relispartition
                AND a.attnum > 0 AND NOT a.attisdropped AND t.relname NOT LIKE 'migrations_%'`,
    });
    const edited = new Set(edits.map(([name]) => name.split(' ')[0]));
    // The name and the number of a channel are what it is looked up by: edited, the channel itself is gone. Who may do what
    // is nothing that was written, and neither is when a claim may be forgotten.
    const lookedUpBy = ['channels.channel', 'channels.channel_id'];
    const rights = ['role', 'surface', 'channel', 'rights', 'owns'].map((column) => `grants.${column}`);
    const apart = [...lookedUpBy, 'channels.appenders', 'channels.epoch', 'claims.made_on', ...rights];
    // Whoever takes a halt away has the integrator write it again; declared losses are edited in declared-losses.int.spec.ts,
    // what is archived in archive-tampering.int.spec.ts.
    const elsewhere = /^(halts|epochs|archived|archives|unwritten_erasures)\./;
    const isApart = (name: string) => apart.includes(name) || elsewhere.test(name);
    expect(columns.map(({ name }) => name).filter((name) => !edited.has(name) && !isApart(name))).toEqual([]);
  });

  it.each(["channel = channel || 'x'", 'channel_id = DEFAULT'])('channels: %s', async (set) => {
    await spoil(`UPDATE ledger.channels SET ${set} WHERE channel = $1`);
    expect((await test.ledger.audit(channel)).ok).toBe(false);
  });
});

describe('rows that go, come or change places are named', () => {
  it('a dropped last row', async () => {
    await spoil(`DELETE FROM ledger.records WHERE channel_id = ${CHANNEL_ID} AND idx = ${SIZE - 1}`);
    expect(await test.ledger.audit(channel)).toMatchObject({ ok: false, firstBadRecordId: `r${SIZE - 1}` });
  });

  it('a dropped last row with everything that spoke of it', async () => {
    await spoil(`DELETE FROM ledger.records WHERE channel_id = ${CHANNEL_ID} AND idx = ${SIZE - 1}`);
    await spoil(`DELETE FROM ledger.record_ids WHERE channel_id = ${CHANNEL_ID} AND idx = ${SIZE - 1}`);
    await spoil(`UPDATE ledger.channels SET size = size - 1 WHERE channel = $1`);
    expect(await test.ledger.audit(channel)).toMatchObject({
      ok: false,
      problem: expect.stringContaining('a checkpoint was signed over 300'),
    });
  });

  const exchange = async (table: string) => {
    await spoil(`UPDATE ledger.${table} SET idx = 900000 WHERE channel_id = ${CHANNEL_ID} AND idx = 10`);
    await spoil(`UPDATE ledger.${table} SET idx = 10 WHERE channel_id = ${CHANNEL_ID} AND idx = 20`);
    await spoil(`UPDATE ledger.${table} SET idx = 20 WHERE channel_id = ${CHANNEL_ID} AND idx = 900000`);
  };

  it('two rows exchanged', async () => {
    await exchange('records');
    expect(await test.ledger.audit(channel)).toMatchObject({ ok: false, firstBadRecordId: 'r20' });
  });

  it('two rows exchanged together with their ids', async () => {
    await exchange('records');
    await exchange('record_ids');
    expect(await test.ledger.audit(channel)).toMatchObject({
      ok: false,
      firstBadRecordId: 'r20',
      problem: expect.stringContaining('tree'),
    });
  });

  it('a row inserted behind the head', async () => {
    await spoil(`INSERT INTO ledger.records SELECT channel_id, ${SIZE}, 'extra', type, owner, data, extra, salt, data_hash, leaf_hash,
                   transaction_id, at_ms FROM ledger.records WHERE channel_id = ${CHANNEL_ID} AND idx = 4`);
    expect(await test.ledger.audit(channel)).toMatchObject({
      ok: false,
      problem: expect.stringContaining('behind the head'),
    });
  });

  it('a row inserted in the middle', async () => {
    await spoil(`UPDATE ledger.records SET idx = idx + 1000 WHERE channel_id = ${CHANNEL_ID} AND idx >= 50`);
    await spoil(`UPDATE ledger.records SET idx = idx - 999 WHERE channel_id = ${CHANNEL_ID} AND idx >= 1050`);
    await spoil(`INSERT INTO ledger.records SELECT channel_id, 50, 'new', type, owner, data, extra, salt, data_hash, leaf_hash,
                   transaction_id, at_ms FROM ledger.records WHERE channel_id = ${CHANNEL_ID} AND idx = 4`);
    await spoil(`UPDATE ledger.channels SET size = size + 1 WHERE channel = $1`);
    expect(await test.ledger.audit(channel)).toMatchObject({ ok: false, firstBadRecordId: 'new' });
  });

  it('a claim that was taken away is not missed, for the id it protected is taken still', async () => {
    await spoil(`DELETE FROM ledger.claims WHERE channel_id = ${CHANNEL_ID}`);
    const again = {
      network: 'acme',
      channel,
      note: '{}',
      records: [{ id: 'r1', type: 'asset', owner: null, data: '{"n":1}', extra: null }],
    };
    expect(await test.ledger.append(again)).toMatchObject({ outcome: 'existing' });
  });
});

describe('the integrator signs nothing over a log that is not as it was left', () => {
  const more = () =>
    test.ledger.append({
      network: 'acme',
      channel,
      note: '{}',
      records: [{ id: 'more', type: 'asset', owner: null, data: '{}', extra: null }],
    });

  it.each([
    ['a gap', `DELETE FROM ledger.records WHERE channel_id = ${CHANNEL_ID} AND idx = ${SIZE}`],
    ['a shrunk head', `UPDATE ledger.channels SET size = 10 WHERE channel = $1`],
    ['a tile that disagrees', row('tiles', 'level = 0 AND tile = 1')(`hashes = ${flipByte('hashes')}`)],
    ['a foreign checkpoint', checkpoint(`note = overlay(note placing 'x' from 3 for 1)`)],
  ])('%s', async (_, statement) => {
    const { integrator, ledger } = test.reopen();
    await more();
    await spoil(statement);
    await expect(integrator.catchUp(channel, SIZE + 1)).rejects.toMatchObject({ name: 'LedgerCorruptError', channel });
    expect(integrator.halted.get(channel)).toMatch(/\w/);
    expect((await ledger.health()).problem).toContain(integrator.halted.get(channel));
  });

  const restoreYesterday = async () => {
    const kept = async (run: (table: string) => Promise<unknown>) => {
      for (const table of TABLES) await run(table);
    };
    const suffix = channel.replace('.', '_');
    await kept((table) =>
      test.sql.query({
        text: `CREATE TABLE public.${table}_${suffix} AS SELECT * FROM ledger.${table} WHERE channel_id = (SELECT channel_id FROM ledger.channels WHERE channel = '${channel}')`,
      }),
    );
    const back = async () => {
      await kept((table) => spoil(`DELETE FROM ledger.${table} WHERE channel_id = ${CHANNEL_ID}`));
      await kept((table) =>
        test.sql.query({ text: `INSERT INTO ledger.${table} SELECT * FROM public.${table}_${suffix}` }),
      );
      await spoil(`UPDATE ledger.channels SET size = ${SIZE} WHERE channel = $1`);
    };
    return back;
  };

  it("yesterday's copy restored under a running process", async () => {
    const back = await restoreYesterday();
    const running = test.reopen();
    await more();
    await running.integrator.catchUp(channel, SIZE + 1);
    await back();
    await expect(running.integrator.catchUp(channel, SIZE + 1)).rejects.toThrow(/rolled back/);
  });

  it("yesterday's copy of one channel restored before a start: it is halted, the others are not", async () => {
    const back = await restoreYesterday();
    await more();
    await test.integrator.catchUp(channel, SIZE + 1);
    await back();
    const { integrator } = test.reopen();
    await integrator.start();
    expect(integrator.halted.get(channel)).toMatch(/rolled back/);
    await integrator.stop();
  });

  it('a fork: the copy restored, then continued otherwise', async () => {
    const back = await restoreYesterday();
    await more();
    await test.integrator.catchUp(channel, SIZE + 1);
    await back();
    const place = { network: 'acme', channel, note: '{}' };
    for (const id of ['x', 'y', 'z'])
      await test.ledger.append({ ...place, records: [{ id, type: 'asset', owner: null, data: '{}', extra: null }] });
    // The forger has the signing key, but not the files that the checkpoints were kept in.
    const forger = test.reopen();
    await forger.integrator.catchUp(channel, SIZE + 3).catch(() => undefined);
    const { integrator } = test.reopen();
    await integrator.start();
    expect(integrator.halted.get(channel)).toMatch(/rolled back|fork/);
    await integrator.stop();
  });
});
