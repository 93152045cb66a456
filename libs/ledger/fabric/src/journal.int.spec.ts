import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { migrate, openDatabase, type Database } from '@sealgate/storage';
import { throwawayPostgres, type ThrowawayPostgres } from '@sealgate/testing';
import { ClaimStore } from './claim-store.ts';
import { UnavailableError } from './fabric-errors.ts';
import { fabricMigrations } from './fabric-migrations.ts';
import type { Ending, JournalEntry, NewClaim } from './journal-statements.ts';
import { Journal } from './journal.ts';

const SCHEMA = 'desk';
const ROLE = 'desk_runtime';
let postgres: ThrowawayPostgres;
let owner: Database;
let sql: Database;

beforeAll(async () => {
  postgres = await throwawayPostgres();
  owner = open(postgres.url);
  await owner.query({ text: `CREATE ROLE ${ROLE} LOGIN PASSWORD 'r'` });
  await migrate({ url: postgres.url, sets: [fabricMigrations(SCHEMA)], runtimeRoles: { [SCHEMA]: ROLE } });
  const url = new URL(postgres.url);
  url.username = ROLE;
  url.password = 'r';
  // Like PgBouncer in transaction mode.
  sql = open(url.href, false);
}, 60_000);
afterAll(async () => {
  await sql.close();
  await owner.close();
  await postgres.stop();
});

function open(url: string, preparedStatements = true): Database {
  const limits = { maxConnections: 6, connectTimeoutMs: 2000, deadlineMs: 5000 };
  return openDatabase({ url, applicationName: 'test', ...limits, preparedStatements });
}

const journalOf = (more: { leaseMs?: number; keepSettledMs?: number; inUse?: string; sql?: Database } = {}) =>
  new Journal({ sql, schema: SCHEMA, holder: randomUUID(), leaseMs: 60_000, keepSettledMs: 60_000, ...more });
const entry = (more: Partial<JournalEntry> = {}): JournalEntry => ({
  transactionId: randomBytes(32).toString('hex'),
  channel: 'main',
  request: randomBytes(5000),
  identity: 'clerk',
  fromBlock: 7,
  reference: undefined,
  note: '{"a":"\\u0000 and \\\\ and \\" and {}"}',
  claim: undefined,
  ...more,
});
const claim = (more: Partial<NewClaim> = {}): NewClaim => ({
  claim: randomBytes(32),
  fingerprint: 's1:a',
  channel: 'acme.main',
  note: '{}',
  receipts: '[]',
  ...more,
});
const ending = (transactionId: string, more: Partial<Ending> = {}): Ending => ({
  transactionId,
  status: 'committed',
  detail: null,
  blockNumber: 9,
  result: Buffer.from('["x"]'),
  ...more,
});

describe('the journal', () => {
  it('stores a transaction from begin to end', async () => {
    const journal = journalOf();
    const group = randomUUID();
    const { transactionId, ...rest } = entry({ reference: `${group}:a` });
    expect(await journal.begin({ transactionId, ...rest })).toBe('begun');
    expect(await journal.read(transactionId)).toEqual({ status: 'unknown', transactionId });
    await journal.settle(ending(transactionId));
    const committed = { status: 'committed', transactionId, blockNumber: 9, result: Buffer.from('["x"]') };
    expect(await journal.read(transactionId)).toEqual(committed);
    expect(await journal.readGroup(group)).toEqual([{ settlement: committed, note: rest.note }]);
    // The first end stays.
    await journal.settle(ending(transactionId, { status: 'invalid', detail: 'MVCC_READ_CONFLICT' }));
    expect(await journal.read(transactionId)).toEqual(committed);
  });

  it.each([
    [
      { status: 'invalid', detail: 'BAD_RWSET', result: null } as const,
      { status: 'invalid', code: 'BAD_RWSET', blockNumber: 9 },
    ],
    [
      { status: 'refused', detail: 'too large', blockNumber: null, result: null } as const,
      { status: 'refused', message: 'too large' },
    ],
  ])('reads how it ended: %j', async (how, told) => {
    const journal = journalOf();
    const { transactionId, ...rest } = entry();
    await journal.begin({ transactionId, ...rest });
    await journal.settle(ending(transactionId, how));
    expect(await journal.read(transactionId)).toEqual({ transactionId, ...told });
  });

  it('returns the same for a repeated entry', async () => {
    const journal = journalOf();
    const one = entry({ claim: claim() });
    expect([await journal.begin(one), await journal.begin(one)]).toEqual(['begun', 'begun']);
  });

  it('gives a claim to one of many, and journals none of the others', async () => {
    const journals = Array.from({ length: 4 }, () => journalOf());
    const wanted = claim();
    const entries = Array.from({ length: 40 }, (_, n) => entry({ claim: n % 4 === 0 ? wanted : claim() }));
    const begun = await Promise.all(entries.map((one, n) => journals[n % journals.length]!.begin(one)));
    const winners = entries.filter((_, n) => n % 4 === 0 && begun[n] === 'begun');
    expect(winners).toHaveLength(1);
    expect(begun.filter((one) => one === 'begun')).toHaveLength(31);
    for (const [n, { transactionId }] of entries.entries()) {
      expect((await journals[0]!.read(transactionId)) === undefined ? 0 : 1).toBe(begun[n] === 'begun' ? 1 : 0);
    }
  });

  it('releases the claim of an uncommitted transaction, and keeps that of a committed one', async () => {
    const journal = journalOf();
    const claims = new ClaimStore(sql, SCHEMA);
    const [kept, freed] = [entry({ claim: claim({ receipts: '[{"id":"a"}]' }) }), entry({ claim: claim() })];
    await Promise.all([journal.begin(kept), journal.begin(freed)]);
    expect(await claims.find(kept.claim!.claim)).toMatchObject({ settled: false });
    await Promise.all([
      journal.settle(ending(kept.transactionId)),
      journal.settle(ending(freed.transactionId, { status: 'invalid', detail: 'MVCC_READ_CONFLICT', result: null })),
    ]);
    expect(await claims.find(kept.claim!.claim)).toEqual({
      fingerprint: 's1:a',
      transactionId: kept.transactionId,
      note: '{}',
      records: [{ id: 'a' }],
      settled: true,
    });
    expect(await claims.find(freed.claim!.claim)).toBeUndefined();
    expect(await journal.begin(entry({ claim: freed.claim }))).toBe('begun');
  });

  it('keeps a claim taken again after its first transaction had no effect', async () => {
    const journal = journalOf();
    const claims = new ClaimStore(sql, SCHEMA);
    const first = entry({ claim: claim() });
    await journal.begin(first);
    const toNothing = ending(first.transactionId, { status: 'invalid', detail: 'X', result: null });
    await journal.settle(toNothing);
    const second = entry({ claim: first.claim });
    await journal.begin(second);
    await journal.settle(toNothing);
    expect(await claims.find(first.claim!.claim)).toMatchObject({ transactionId: second.transactionId });
  });

  it('gives transactions of a process that is gone to exactly one other process', async () => {
    const dead = journalOf({ leaseMs: 1 });
    const entries = Array.from({ length: 60 }, () => entry());
    await Promise.all(entries.map((one) => dead.begin(one)));
    await dead.beat();
    const heirs = Array.from({ length: 3 }, () => journalOf());
    for (const heir of heirs) await heir.beat();
    expect(await heirs[0]!.beat()).toBe(true);
    const adopted = (await Promise.all(heirs.map((heir) => heir.adopt(100, undefined)))).flat();
    const ours = adopted.filter(({ transactionId }) => entries.some((one) => one.transactionId === transactionId));
    expect(new Set(ours.map(({ transactionId }) => transactionId)).size).toBe(60);
    expect(ours).toHaveLength(60);
    const original = entries.find((one) => one.transactionId === ours[0]!.transactionId)!;
    expect(ours[0]).toMatchObject({ channel: 'main', fromBlock: 7, note: original.note, request: original.request });
    await Promise.all(entries.map(({ transactionId }) => heirs[0]!.settle(ending(transactionId))));
    expect(await heirs[0]!.beat()).toBe(false);
  });

  it('takes nothing from a live process, and everything from one that departs', async () => {
    const living = journalOf();
    await living.beat();
    const one = entry();
    await living.begin(one);
    const other = journalOf();
    expect(await other.beat()).toBe(false);
    expect(await other.adopt(10, undefined)).toEqual([]);
    await living.depart();
    expect(await other.beat()).toBe(true);
    expect(await other.adopt(10, undefined)).toMatchObject([{ transactionId: one.transactionId }]);
    await other.settle(ending(one.transactionId));
  });

  it('finds transactions taken over in a lost response', async () => {
    const journal = journalOf();
    await journal.beat();
    const [known, lost, young] = [entry(), entry(), entry()];
    for (const one of [known, lost, young]) await journal.begin(one);
    await owner.query({
      text: `UPDATE ${SCHEMA}.fabric_transactions SET begun_at = begun_at - interval '1 hour' WHERE transaction_id <> $1`,
      values: [Buffer.from(young.transactionId, 'hex')],
    });
    const found = await journal.adopt(10, [known.transactionId]);
    expect(found.map(({ transactionId }) => transactionId)).toEqual([lost.transactionId]);
    for (const one of [known, lost, young]) await journal.settle(ending(one.transactionId));
  });

  it('removes old settled transactions, but none that are open or claimed', async () => {
    const journal = journalOf({ keepSettledMs: 1000 });
    const claims = new ClaimStore(sql, SCHEMA);
    const [old, fresh, unsettled] = [entry({ claim: claim() }), entry(), entry()];
    for (const one of [old, fresh, unsettled]) await journal.begin(one);
    for (const one of [old, fresh]) await journal.settle(ending(one.transactionId));
    await owner.query({
      text: `UPDATE ${SCHEMA}.fabric_transactions SET settled_at = settled_at - interval '1 hour' WHERE transaction_id = $1`,
      values: [Buffer.from(old.transactionId, 'hex')],
    });
    expect(await journal.forget()).toBe(false);
    expect(await journal.read(old.transactionId)).toBeUndefined();
    expect(await journal.read(fresh.transactionId)).toBeDefined();
    expect(await journal.read(unsettled.transactionId)).toBeDefined();
    expect(await claims.find(old.claim!.claim)).toMatchObject({ settled: true });
    await journal.settle(ending(unsettled.transactionId));
  });

  it('keeps what unfinished work refers to, however old it is', async () => {
    const journal = journalOf({ keepSettledMs: 1000, inUse: `t.reference LIKE 'open:%'` });
    const [open, done] = [entry({ reference: 'open:1' }), entry({ reference: 'done:1' })];
    for (const one of [open, done]) await journal.begin(one);
    for (const one of [open, done]) await journal.settle(ending(one.transactionId));
    await owner.query({
      text: `UPDATE ${SCHEMA}.fabric_transactions SET settled_at = settled_at - interval '40 days'`,
    });
    await journal.forget();
    expect(await journal.read(open.transactionId)).toBeDefined();
    expect(await journal.read(done.transactionId)).toBeUndefined();
  });

  it('journals one transaction under a reference, by whichever process, until that is known to have no effect', async () => {
    const reference = `${randomUUID()}:a`;
    const [one, other] = [journalOf(), journalOf()];
    const entries = Array.from({ length: 8 }, () => entry({ reference }));
    const begun = await Promise.all(entries.map((each, n) => (n % 2 === 0 ? one : other).begin(each)));
    expect(begun.toSorted()).toEqual(['begun', ...Array.from({ length: 7 }, () => 'claimed')]);
    const winner = entries[begun.indexOf('begun')]!;
    expect(await other.begin(winner)).toBe('begun');
    await one.settle(ending(winner.transactionId, { status: 'invalid', detail: 'MVCC_READ_CONFLICT' }));
    const next = entry({ reference });
    expect(await other.begin(next)).toBe('begun');
    await one.settle(ending(next.transactionId));
    expect(await other.begin(entry({ reference }))).toBe('claimed');
    const group = reference.split(':')[0]!;
    expect(await one.readGroup(group)).toMatchObject([{ settlement: { transactionId: next.transactionId } }]);
  });

  it('never journals a transaction that was withdrawn, and does not withdraw one that is journalled', async () => {
    const [asking, waiting] = [journalOf(), journalOf()];
    const [unwritten, written] = [entry(), entry()];
    expect(await asking.withdraw(unwritten.transactionId, 'main')).toBe(true);
    expect(await asking.withdraw(unwritten.transactionId, 'main')).toBe(true);
    expect(await waiting.begin(unwritten)).toBe('claimed');
    expect(await waiting.read(unwritten.transactionId)).toMatchObject({ status: 'refused' });
    await waiting.begin(written);
    expect(await asking.withdraw(written.transactionId, 'main')).toBe(false);
    const adopted = (await asking.adopt(500, undefined)).map(({ transactionId }) => transactionId);
    expect(adopted).not.toContain(unwritten.transactionId);
    await waiting.settle(ending(written.transactionId));
  });

  it('tells every process the highest block that holds a committed transaction', async () => {
    const [writing, reading] = [journalOf(), journalOf()];
    const channel = `c${randomBytes(4).toString('hex')}`;
    expect(await reading.height(channel)).toBeUndefined();
    const [early, late, invalid] = [entry({ channel }), entry({ channel }), entry({ channel })];
    for (const one of [early, late, invalid]) await writing.begin(one);
    await writing.settle(ending(late.transactionId, { blockNumber: 12 }));
    await writing.settle(ending(early.transactionId, { blockNumber: 11 }));
    await writing.settle(ending(invalid.transactionId, { status: 'invalid', detail: 'BAD_RWSET', blockNumber: 15 }));
    expect(await reading.height(channel)).toBe(12);
    await writing.raiseHeight(channel, 14);
    await writing.raiseHeight(channel, 13);
    expect(await reading.height(channel)).toBe(14);
  });

  it('distinguishes "not written" from "unknown"', async () => {
    const away = openDatabase({
      url: 'postgres://nobody:x@127.0.0.1:1/none',
      applicationName: 'test',
      maxConnections: 1,
      connectTimeoutMs: 300,
      deadlineMs: 300,
    });
    const journal = journalOf({ sql: away });
    expect(await journal.begin(entry())).toBe('unwritten');
    await expect(journal.readGroup('x')).rejects.toThrow(UnavailableError);
    await away.close();
    const stuck = journalOf();
    const one = entry();
    await owner.transaction(async (locked) => {
      await locked.query({ text: `LOCK TABLE ${SCHEMA}.fabric_transactions` });
      expect(await stuck.begin(one)).toBe('unsure');
    });
    expect(await stuck.begin(one)).toBe('begun');
    await stuck.settle(ending(one.transactionId));
  });

  it('accepts only plain schema names', () => {
    expect(() => new Journal({ sql, holder: '', leaseMs: 1, keepSettledMs: 1, schema: 'a; DROP' })).toThrow(
      'cannot name a schema',
    );
  });
});
