import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { edits, flipByte, row } from '../testing/edited-columns.ts';
import { openTestLedger, type TestLedger } from '../testing/open-test-ledger.ts';

/** Each row is an attack by the owner of the tables: a channel is written, signed, tampered with and audited. */
let test: TestLedger;
let channel: string;
let channels = 0;

const CHANNEL_ID = '(SELECT channel_id FROM ledger.channels WHERE channel = $1)';
const SIZE = 300;
const TABLES = 'records ids colliding_ids claims tiles checkpoints erasures record_types record_types_upto'.split(' ');

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
  // As if the hash of this id had been taken by another one.
  await spoil(`WITH r9 AS (DELETE FROM ledger.ids WHERE channel_id = ${CHANNEL_ID} AND id = 'r9' RETURNING *)
    INSERT INTO ledger.colliding_ids (channel_id, id, idx) SELECT channel_id, id, idx FROM r9`);
  expect(await test.ledger.audit(channel)).toEqual({ ok: true, size: SIZE, firstBadRecordId: null, problem: null });
});

/** Rows that belong to no channel would show up in all later audits. */
afterEach(async () => {
  for (const table of TABLES) {
    await test.sql.query({
      text: `DELETE FROM ledger.${table} WHERE channel_id NOT IN (SELECT channel_id FROM ledger.channels)`,
    });
  }
});

const spoil = (text: string, ...values: unknown[]) => test.sql.query({ text, values: [channel, ...values] });

const checkpoint = row('checkpoints', 'true');

describe('an audit detects an edit of one column', () => {
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
    // Name and number identify a channel: edited, the channel itself is gone. Grants are not ledger content, and
    // neither are the expiry of claims, the number of tables that ids are looked up in, and the places of leaves, which
    // are compared with the tiles whenever they are used (search-log.int.spec.ts).
    const lookedUpBy = ['channels.channel', 'channels.channel_id'];
    const rights = ['role', 'surface', 'channel', 'rights', 'owns'].map((column) => `grants.${column}`);
    const apart = [
      ...lookedUpBy,
      'channels.appenders',
      'channels.epoch',
      'channels.has_collisions',
      'claims.made_on',
      ...rights,
    ];
    // A deleted halt is written again by the integrator; declared losses are edited in declared-losses.int.spec.ts,
    // archived records in archive-tampering.int.spec.ts, statements of log keys in log-keys.int.spec.ts, and cosigned
    // checkpoints below.
    const elsewhere =
      /^(published|log_keys|halts|epochs|archived|archives|unwritten_erasures|leaf_places|leaf_places_upto)\./;
    const isApart = (name: string) => apart.includes(name) || elsewhere.test(name);
    expect(columns.map(({ name }) => name).filter((name) => !edited.has(name) && !isApart(name))).toEqual([]);
  });

  it('an edited cosigned checkpoint is not served', async () => {
    await test.sql.query({ text: 'SELECT ledger.publish_cosigned()' });
    try {
      expect(await test.ledger.checkpoint(channel)).toContain(`\n${SIZE}\n`);
      await spoil(
        `UPDATE ledger.published SET note = replace(note, E'\\n${SIZE}\\n', E'\\n${SIZE - 1}\\n') WHERE channel_id = ${CHANNEL_ID}`,
      );
      await expect(test.ledger.checkpoint(channel)).rejects.toThrow(channel);
    } finally {
      await test.sql.query({ text: 'SELECT ledger.publish_signed()' });
    }
  });

  it.each(["channel = channel || 'x'", 'channel_id = DEFAULT'])('channels: %s', async (set) => {
    await spoil(`UPDATE ledger.channels SET ${set} WHERE channel = $1`);
    expect((await test.ledger.audit(channel)).ok).toBe(false);
  });
});

describe('removed, inserted or exchanged rows are detected', () => {
  it('a removed last row', async () => {
    await spoil(`DELETE FROM ledger.records WHERE channel_id = ${CHANNEL_ID} AND idx = ${SIZE - 1}`);
    expect(await test.ledger.audit(channel)).toMatchObject({ ok: false, firstBadRecordId: `r${SIZE - 1}` });
  });

  it('a removed last row with everything that refers to it', async () => {
    await spoil(`DELETE FROM ledger.records WHERE channel_id = ${CHANNEL_ID} AND idx = ${SIZE - 1}`);
    await spoil(`DELETE FROM ledger.ids WHERE channel_id = ${CHANNEL_ID} AND idx = ${SIZE - 1}`);
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
    await exchange('ids');
    expect(await test.ledger.audit(channel)).toMatchObject({
      ok: false,
      firstBadRecordId: 'r20',
      problem: expect.stringContaining('tree'),
    });
  });

  it('a row inserted beyond the head', async () => {
    await spoil(`INSERT INTO ledger.records SELECT channel_id, ${SIZE}, 'extra', type, owner, data, extra, salt, data_hash, leaf_hash,
                   transaction_id, at_ms FROM ledger.records WHERE channel_id = ${CHANNEL_ID} AND idx = 4`);
    expect(await test.ledger.audit(channel)).toMatchObject({
      ok: false,
      problem: expect.stringContaining('beyond the head'),
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

  it('a removed claim is not detected, because the id it protected is still taken', async () => {
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

describe('the integrator signs nothing over a tampered log', () => {
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

  it('a fork: the copy restored, then continued differently', async () => {
    const back = await restoreYesterday();
    await more();
    await test.integrator.catchUp(channel, SIZE + 1);
    await back();
    const place = { network: 'acme', channel, note: '{}' };
    for (const id of ['x', 'y', 'z'])
      await test.ledger.append({ ...place, records: [{ id, type: 'asset', owner: null, data: '{}', extra: null }] });
    // The forger has the signing key, but not the kept checkpoints.
    const forger = test.reopen();
    await forger.integrator.catchUp(channel, SIZE + 3).catch(() => undefined);
    const { integrator } = test.reopen();
    await integrator.start();
    expect(integrator.halted.get(channel)).toMatch(/rolled back|fork/);
    await integrator.stop();
  });
});
