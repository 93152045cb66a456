import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  DatabaseFullError,
  DatabaseUnavailableError,
  openDatabase,
  type Database,
  type Statement,
} from '@sealgate/storage';
import { throwawayPostgres, until } from '@sealgate/testing';
import { openTestLedger, type TestLedger } from './testing/open-test-ledger.ts';

/** Faults are injected around the real database, which cannot be made to lose an answer. */
let test: TestLedger;
let channels = 0;

beforeAll(async () => {
  test = await openTestLedger();
});

afterAll(() => test.close());

type Fault = 'answer lost' | 'never sent' | 'disk full' | undefined;

/** The real database; each append hits the next of these faults. */
function faulty(faults: Fault[]): Database {
  const query: Database['query'] = async <Row extends object>(statement: Statement) => {
    const fault = statement.text.includes('append') ? faults.shift() : undefined;
    if (fault === 'never sent') throw new DatabaseUnavailableError('gone', { sent: false });
    if (fault === 'disk full') throw new DatabaseFullError(new Error('could not extend file'));
    const rows = await test.sql.query<Row>(statement);
    if (fault === 'answer lost') throw new DatabaseUnavailableError('cut', { sent: true });
    return rows;
  };
  return { ...test.sql, query };
}

const newUnit = (more: object = {}) => ({
  network: 'acme',
  channel: `acme.l${(channels += 1)}`,
  note: '{}',
  records: [
    { id: 'a', type: 't', owner: null, data: '{}', extra: null },
    { id: 'b', type: 't', owner: null, data: '{}', extra: null },
  ],
  ...more,
});

const sizeOf = async (name: string) => (await test.ledger.size(name)) ?? 0;

describe('an append whose answer is lost', () => {
  it.each([
    ['with a claim', { claim: { claim: Buffer.alloc(32, 1), fingerprint: 'f', acceptable: ['f'] } }],
    ['without one', {}],
  ])('is settled by resending, %s: written once, and reported as written', async (_, more) => {
    const unit = newUnit(more);
    const { ledger } = test.reopen({ sql: faulty(['answer lost', 'answer lost', undefined]) });
    const result = await ledger.append(unit);
    expect(result).toMatchObject({
      outcome: 'written',
      records: [
        { id: 'a', index: 0 },
        { id: 'b', index: 1 },
      ],
    });
    expect('records' in result && result.records.map(({ existing }) => existing)).toEqual([false, false]);
    expect(await sizeOf(unit.channel)).toBe(2);
  });

  it('is reported as unknown if the outcome is not known in time, and still settled', async () => {
    const unit = newUnit();
    const settled: string[] = [];
    const { ledger } = test.reopen({
      sql: faulty(Array.from({ length: 8 }, () => 'answer lost')),
      limits: { answerWithinMs: 100 },
      onResult: ({ outcome }) => settled.push(outcome),
    });
    await expect(ledger.append(unit)).rejects.toMatchObject({
      name: 'OutcomeUnknownError',
      transactionId: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    await until(() => settled.length > 0, { what: 'the unit to be settled' });
    expect(settled).toEqual(['written']);
    expect(await sizeOf(unit.channel)).toBe(2);
    await ledger.drain();
  });
});

describe('an append that was certainly not sent', () => {
  it('is sent when the database is back', async () => {
    const { ledger } = test.reopen({ sql: faulty(['never sent', 'never sent', undefined]) });
    expect(await ledger.append(newUnit())).toMatchObject({ outcome: 'written' });
  });

  it('is reported as not written after its deadline, and is not written afterwards', async () => {
    const unit = newUnit();
    const { ledger } = test.reopen({
      sql: faulty(Array.from({ length: 7 }, () => 'never sent')),
      limits: { answerWithinMs: 60 },
    });
    await expect(ledger.append(unit)).rejects.toMatchObject({ name: 'LedgerUnavailableError' });
    await ledger.drain();
    expect(await sizeOf(unit.channel)).toBe(0);
  });
});

describe('an append to a database whose disk is full', () => {
  it('is refused by the first answer, and the next one is written', async () => {
    const faults: Fault[] = ['disk full', 'disk full', undefined];
    const { ledger } = test.reopen({ sql: faulty(faults) });
    await expect(ledger.append(newUnit())).rejects.toMatchObject({ name: 'LedgerUnavailableError' });
    await expect(ledger.append(newUnit())).rejects.toMatchObject({ name: 'LedgerUnavailableError' });
    expect(faults).toHaveLength(1);
    expect(await ledger.append(newUnit())).toMatchObject({ outcome: 'written' });
  });

  it('is resent while an earlier attempt may have been written', async () => {
    const { ledger } = test.reopen({ sql: faulty(['answer lost', 'disk full', undefined]) });
    expect(await ledger.append(newUnit())).toMatchObject({ outcome: 'written' });
  });
});

describe('a unit rejected by the database', () => {
  it('does not affect the other units of its group', async () => {
    const refused: unknown[] = [];
    const { ledger } = test.reopen({ onUnexpected: (error) => refused.push(error) });
    const place = newUnit();
    const record = (id: string) => ({ id, type: 't', owner: null, data: '{}', extra: null });
    const ids = ['a', 'b', 'c\u0000', 'd', 'e'];
    const results = await Promise.allSettled(ids.map((id) => ledger.append({ ...place, records: [record(id)] })));
    expect(results.map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
    ]);
    expect(refused).toHaveLength(1);
    expect(await sizeOf(place.channel)).toBe(4);
  });

  it("is reported as not written at once if the ledger's schema is missing, and is not sent again", async () => {
    const fresh = await throwawayPostgres();
    const sql = openDatabase({
      url: fresh.url,
      applicationName: 'test',
      maxConnections: 2,
      connectTimeoutMs: 2000,
      deadlineMs: 10_000,
    });
    const { ledger } = test.reopen({ sql });
    const startedAt = performance.now();
    const refused = { name: 'LedgerUnavailableError', cause: { name: 'DatabaseRefusedError' } };
    await expect(ledger.append(newUnit())).rejects.toMatchObject(refused);
    expect(performance.now() - startedAt).toBeLessThan(2000);
    expect(ledger.depth).toBe(0);
    await sql.close();
    await fresh.stop();
  });
});
