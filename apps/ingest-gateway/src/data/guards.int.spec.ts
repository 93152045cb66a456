import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { lastUsedWriter } from '@sealgate/api-keys';
import type { EmbeddedLedgerOptions } from '@sealgate/ledger-embedded';
import type { AppendUnit } from '@sealgate/ledger-port';
import { DatabaseUnavailableError, type Database, type Statement } from '@sealgate/storage';
import { holdLock, until } from '@sealgate/testing';
import { openTestEvents, record, type TestEvents } from '../testing/test-events.ts';
import { callersStore } from './live-callers.ts';

let test: TestEvents;
let sql: TestEvents['sql'];
let keys = 0;
let names = 0;

beforeAll(async () => {
  test = await openTestEvents();
  ({ sql } = test);
}, 60_000);
afterAll(() => test.close());

const hashOf = (id: string) => Buffer.from(id.padEnd(32, '.'));
const callers = () => callersStore({ sql, now: Date.now, deadlineMs: 5000 });
const find = (id: string) => callers().find(hashOf(id));

/** A key of a network, with the guard of its look-up. */
async function newKey(network = 'acme') {
  const id = `key_${(keys += 1)}`;
  await sql.query({
    text: `INSERT INTO ingest.api_keys (id, owner_id, family_id, label, key_prefix, key_hash, grants, created_at)
           VALUES ($1, $2, $1, 'till', 'ingest_12345', $3, '{"record":"envelope"}', now())`,
    values: [id, network, hashOf(id)],
  });
  return { id, guard: (await find(id))!.guard };
}

const revoke = (id: string) =>
  sql.query({ text: 'UPDATE ingest.api_keys SET revoked_at = now() WHERE id = $1', values: [id] });

const newUnit = (more: Partial<AppendUnit> & { network?: string } = {}): AppendUnit => {
  const { network = 'acme', ...rest } = more;
  return { ...test.unitOf({ network, records: [record(`guarded-${(names += 1)}`)] }), ...rest };
};

const idsIn = async (network: string) =>
  (
    await sql.query<{ id: string }>({
      text: `SELECT r.id FROM ledger.records r JOIN ledger.channels c USING (channel_id) WHERE c.channel = $1 || '.main'`,
      values: [network],
    })
  ).map(({ id }) => id);

const isWritten = async ({ network, records }: AppendUnit) => (await idsIn(network)).includes(records[0]!.id);

/** A process of its own whose calls are counted; the answers of the first calls can be dropped. */
function openProcess(more: Partial<EmbeddedLedgerOptions> & { lost?: number; onCall?: () => Promise<unknown> } = {}) {
  const { lost = 0, onCall, ...options } = more;
  const calls: string[] = [];
  const query: Database['query'] = async <Row extends object>(statement: Statement) => {
    if (!statement.text.includes('ingest.append')) return sql.query<Row>(statement);
    calls.push(statement.text);
    const rows = await sql.query<Row>(statement);
    if (calls.length > lost) return rows;
    await onCall?.();
    throw new DatabaseUnavailableError('cut', { sent: true });
  };
  return { ledger: test.openLedger({ sql: { ...sql, query }, ...options }), calls };
}

describe('the version of a caller', () => {
  it('is unaffected by use of the key and changes with all that a request depends on', async () => {
    await sql.query({ text: `INSERT INTO ingest.networks (network_id, channels) VALUES ('changing', '{main}')` });
    const { id, guard } = await newKey('changing');
    const lastUsed = lastUsedWriter({ sql, schema: 'ingest', now: Date.now });
    lastUsed.touch(id);
    await lastUsed.flush();
    await sql.query({ text: `UPDATE ingest.networks SET name = 'Changing' WHERE network_id = 'changing'` });
    expect((await find(id))!.guard).toEqual(guard);
    const versions = [guard.version];
    for (const change of [
      `networks SET channels = '{main,side}' WHERE network_id = 'changing'`,
      `networks SET rate_per_second = 5, burst = 500 WHERE network_id = 'changing'`,
      `networks SET burst = 501 WHERE network_id = 'changing'`,
      `api_keys SET grants = '{"record":"whole"}' WHERE id = '${id}'`,
      `api_keys SET expires_at = now() + interval '1 day' WHERE id = '${id}'`,
      `api_keys SET overlap_until = now() + interval '1 hour' WHERE id = '${id}'`,
    ]) {
      await sql.query({ text: `UPDATE ingest.${change}` });
      versions.push((await find(id))!.guard.version);
    }
    expect(new Set(versions).size).toBe(versions.length);
  });

  it.each([
    ['a revoked key', `api_keys SET revoked_at = now() WHERE id = $1`],
    [
      'a network that was deleted',
      `networks SET deleted_at = now() WHERE network_id = (SELECT owner_id FROM ingest.api_keys WHERE id = $1)`,
    ],
  ])('does not exist for %s', async (_, change) => {
    const network = `ending-${(names += 1)}`;
    await sql.query({
      text: `INSERT INTO ingest.networks (network_id, channels) VALUES ($1, '{main}')`,
      values: [network],
    });
    const { id } = await newKey(network);
    const guardsOf = () =>
      sql.query({ text: `SELECT 1 FROM ingest.callers WHERE id = $1 AND revoked_at IS NULL`, values: [id] });
    expect(await guardsOf()).toHaveLength(1);
    await sql.query({ text: `UPDATE ingest.${change}`, values: [id] });
    expect(await guardsOf()).toEqual([]);
    expect(await find(id)).toBeUndefined();
  });

  it('ends when the key ends first, by the clock of the process', async () => {
    const { id } = await newKey();
    const endsAtMs = Date.now() + 60_000;
    await sql.query({
      text: `UPDATE ingest.api_keys SET expires_at = $2::timestamptz, overlap_until = $2::timestamptz + interval '1 hour' WHERE id = $1`,
      values: [id, new Date(endsAtMs)],
    });
    let nowMs = endsAtMs - 5000;
    const store = callersStore({ sql, now: () => nowMs, deadlineMs: 5000 });
    await store.find(hashOf(id));
    nowMs = endsAtMs - 1;
    expect(store.lately(hashOf(id))).toMatchObject({ keyId: id });
    nowMs = endsAtMs;
    expect(store.lately(hashOf(id))).toBeUndefined();
  });
});

describe('a unit with a guard', () => {
  it('is written while the guard is current, and refused once it is stale', async () => {
    const { id, guard } = await newKey();
    const { ledger } = openProcess();
    expect(await ledger.append(newUnit({ guard }))).toMatchObject({ outcome: 'written' });
    await revoke(id);
    const late = newUnit({ guard });
    await expect(ledger.append(late)).rejects.toMatchObject({ name: 'StaleGuardError' });
    expect(await isWritten(late)).toBe(false);
    expect(await test.events.find(late.note.split('\t')[0]!)).toBeUndefined();
  });

  it('is refused where its guard became stale while the call waited for the lock of the head', async () => {
    const { id, guard } = await newKey();
    const { ledger } = openProcess();
    await ledger.append(newUnit({ guard }));
    const lock = await holdLock(test.url, `SELECT 1 FROM ledger.channels WHERE channel = 'acme.main' FOR UPDATE`);
    const waiting = newUnit({ guard });
    const refused = expect(ledger.append(waiting)).rejects.toMatchObject({ name: 'StaleGuardError' });
    await until(async () => (await lock.waiting()) > 0);
    await revoke(id);
    await lock.release();
    await refused;
    expect(await isWritten(waiting)).toBe(false);
  });

  it('does not affect other units of its group when it is stale', async () => {
    const [gone, stays] = [await newKey(), await newKey()];
    await revoke(gone.id);
    const { ledger, calls } = openProcess();
    const units = [stays.guard, gone.guard, undefined, stays.guard, gone.guard].map((guard) =>
      newUnit(guard === undefined ? {} : { guard }),
    );
    const results = await Promise.allSettled(units.map((unit) => ledger.append(unit)));
    expect(results.map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
      'rejected',
    ]);
    expect(await Promise.all(units.map(isWritten))).toEqual([true, false, true, true, false]);
    expect(calls).toHaveLength(2);
  });

  it('does not affect other units of a call with several channels', async () => {
    const [gone, stays] = [await newKey(), await newKey('demo')];
    await revoke(gone.id);
    const { ledger, calls } = openProcess({ limits: { running: 1 } });
    const units = [
      newUnit({ guard: gone.guard }),
      newUnit({ network: 'demo', guard: stays.guard }),
      newUnit({ network: 'quiet' }),
    ];
    // The first call takes the only slot, so the others are sent as one group.
    const first = ledger.append(newUnit());
    const results = await Promise.allSettled(units.map((unit) => ledger.append(unit)));
    await first;
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
    expect(results[0]).toMatchObject({ reason: { name: 'StaleGuardError' } });
    expect(await Promise.all(units.map(isWritten))).toEqual([false, true, true]);
    expect(calls.some((text) => text.includes('ingest.append_many('))).toBe(true);
  });

  it('that writes nothing is answered without regard to its guard', async () => {
    const { id, guard } = await newKey();
    const claim = { claim: hashOf(`claim of ${id}`), fingerprint: 's1:f', acceptable: ['s1:f'] };
    const { ledger } = openProcess();
    const unit = newUnit({ guard, claim });
    await ledger.append(unit);
    await revoke(id);
    const again = newUnit({ guard, claim, records: unit.records });
    expect(await ledger.append(again)).toMatchObject({ outcome: 'replayed' });
    const other = { ...claim, fingerprint: 's1:other', acceptable: ['s1:other'] };
    expect(await ledger.append(newUnit({ guard, claim: other }))).toEqual({ outcome: 'reused' });
    const conflict = newUnit({ guard, records: [record(unit.records[0]!.id, 2)] });
    await expect(ledger.append(conflict)).rejects.toMatchObject({ name: 'StaleGuardError' });
  });

  it.each([
    ['written', true],
    ['not written', false],
  ])(
    'whose answer was lost, and whose guard is stale by then, is never reported as refused: it was %s',
    async (_, wasWritten) => {
      const { id, guard } = await newKey();
      const unit = newUnit({ guard });
      if (!wasWritten) await revoke(id);
      const { ledger, calls } = openProcess({ lost: 1, onCall: () => revoke(id) });
      const results = ledger.append(unit);
      if (wasWritten) await expect(results).rejects.toMatchObject({ name: 'OutcomeUnknownError' });
      else await expect(results).rejects.toMatchObject({ name: 'StaleGuardError' });
      expect([await isWritten(unit), calls.length]).toEqual([wasWritten, wasWritten ? 2 : 1]);
    },
  );

  it('and a claim, whose answer was lost, is settled as written even if its guard is stale by then', async () => {
    const { id, guard } = await newKey();
    const claim = { claim: hashOf(`lost of ${id}`), fingerprint: 's1:f', acceptable: ['s1:f'] };
    const { ledger } = openProcess({ lost: 1, onCall: () => revoke(id) });
    expect(await ledger.append(newUnit({ guard, claim }))).toMatchObject({ outcome: 'written' });
  });

  it('is written for a source too, until the source is changed, disabled or deleted', async () => {
    await sql.query({
      text: `INSERT INTO ingest.sources (source_id, network_id, name, scheme, settings, secrets, enabled, created_at, changed_at)
             VALUES ('src_1', 'acme', 'till', 'github', '{}', '[]', true, now(), now())`,
    });
    const guardNow = async () => {
      const text = `SELECT hash_record_extended(s, 0)::text AS version FROM ingest.live_sources s WHERE source_id = 'src_1'`;
      const [row] = await sql.query<{ version: string }>({ text });
      return { kind: 'source', id: 'src_1', version: row?.version ?? 'none' };
    };
    const { ledger } = openProcess();
    for (const change of [`secrets = '[{"id":"new"}]'`, `settings = '{"type":"order"}'`, `enabled = false`]) {
      const guard = await guardNow();
      expect(await ledger.append(newUnit({ guard }))).toMatchObject({ outcome: 'written' });
      await sql.query({ text: `UPDATE ingest.sources SET ${change}` });
      await expect(ledger.append(newUnit({ guard }))).rejects.toMatchObject({ name: 'StaleGuardError' });
    }
    expect(await guardNow()).toMatchObject({ version: 'none' });
  });

  it('is confirmed by indexes only, for any number of keys and for text of any origin', async () => {
    const { guard } = await newKey();
    const scans = await sql.transaction(async (transaction) => {
      await transaction.query({ text: `SET LOCAL search_path = ingest; SET LOCAL enable_seqscan = off` });
      const text = `SELECT relname, seq_scan::int AS whole, idx_scan::int AS indexed FROM pg_stat_xact_user_tables
                     WHERE schemaname = 'ingest' AND relname IN ('api_keys', 'networks') ORDER BY 1`;
      const read = () => transaction.query<{ relname: string; whole: number; indexed: number }>({ text });
      const before = await read();
      for (const collation of ['default', 'C']) {
        const guarded = `SELECT confirm_guards(ARRAY['key ${guard.id} ${guard.version}' COLLATE "${collation}"])`;
        await transaction.query({ text: guarded });
      }
      return (await read()).map(({ whole, indexed }, n) => [whole - before[n]!.whole, indexed - before[n]!.indexed]);
    });
    expect(scans).toEqual([
      [0, 2],
      [0, 2],
    ]);
  });

  it('of an unknown kind or id is stale', async () => {
    const { guard } = await newKey();
    const { ledger } = openProcess();
    for (const other of [{ kind: 'source' }, { id: 'key_none' }, { version: '0' }]) {
      const results = ledger.append(newUnit({ guard: { ...guard, ...other } }));
      await expect(results).rejects.toMatchObject({ name: 'StaleGuardError' });
    }
  });
});
