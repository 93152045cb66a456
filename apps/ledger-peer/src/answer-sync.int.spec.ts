import { describe, expect, it } from '@jest/globals';
import { embeddedLedger } from '@sealgate/ledger-embedded';
import { DatabaseUnavailableError, type Database } from '@sealgate/storage';
import { until } from '@sealgate/testing';
import { embeddedAssets } from './data/embedded-assets.ts';
import type { SyncAnswer } from './domain/answer-sync.ts';
import { Mappings } from './domain/mapping.ts';
import { anyMapping, removeOldJobs, testPeer, writeOf } from './testing/open-test-peer.ts';
import { peerSuite } from './testing/peer-suite.ts';
import { scriptedLedger } from './testing/scripted-ledger.ts';

const suite = peerSuite();
const { peerWith, keep, rows } = suite;

const halt = (sql: Database, channel: string) =>
  sql.query({
    text: `SELECT ledger.halt('acme', $1, 'records are missing', $2, 1)`,
    values: [channel, JSON.stringify([{ epoch: 0, lostFrom: 1, lostUntil: 9, checkpoint: 'note', surviving: null }])],
  });

const summaryOf = ({ body }: SyncAnswer) => (JSON.parse(body) as { summary: object }).summary;

/** Lets a test continue a step at the right moment. */
function gate() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}

describe('a plain write', () => {
  it('stores no row', async () => {
    const { answer } = peerWith();
    expect(await answer(writeOf(['a', 'b']))).toMatchObject({ status: 200, replayed: false });
    expect(await rows()).toEqual([]);
  });

  it('is rejected as a whole for an unmapped type, or per asset with continueOnError', async () => {
    const { answer, ledger } = peerWith();
    const request = writeOf(['a'], { type: 'unmapped' });
    await expect(answer(request)).rejects.toMatchObject({
      code: 'UNKNOWN_CHAINCODE',
      faults: [{ in: 'body', pointer: '/assets/0/type' }],
    });
    const lenient = await answer(writeOf(['a'], { type: 'unmapped', options: { continueOnError: true } }));
    expect(summaryOf(lenient)).toEqual({ total: 1, succeeded: 0, failed: 1, pending: 0 });
    expect(ledger.writes).toEqual([]);
  });

  it.each([
    ['unavailable', 'LEDGER_UNAVAILABLE'],
    ['overloaded', 'OVERLOADED'],
  ] as const)('is rejected if the ledger was %s and nothing was sent', async (outcome, code) => {
    const { answer } = peerWith({ write: () => ({ outcome }) });
    await expect(answer(writeOf(['a']))).rejects.toMatchObject({ code, retryAfterSeconds: 1 });
  });

  it('names the halted channel, writes nothing, and succeeds under the same key once it is resumed', async () => {
    const { sql } = suite.database;
    const ledger = embeddedLedger({ sql, origin: 'ledger.test', now: Date.now });
    const assets = embeddedAssets({ ledger, sql, settleWithinMs: 100 });
    const { answer } = suite.keep(testPeer({ sql, ledger: assets, owner: 'halted' }));
    await answer(writeOf(['kept']));
    await halt(sql, 'acme.main');
    const detail =
      'Channel acme.main is halted, because records of it that were signed for are missing; nothing was written.';
    for (const request of [writeOf(['a', 'b']), writeOf(['c'], { key: 'order-1' })])
      await expect(answer(request)).rejects.toMatchObject({ code: 'LEDGER_UNAVAILABLE', message: detail });
    expect(await sql.query({ text: 'SELECT id FROM ledger.records' })).toEqual([{ id: 'kept' }]);
    await sql.query({ text: `SELECT ledger.resume('acme.main')` });
    expect(await answer(writeOf(['c'], { key: 'order-1' }))).toMatchObject({ status: 200, replayed: false });
    await ledger.drain();
  });

  it('names the halted channel for assets not attempted because of it', async () => {
    let calls = 0;
    const halted = { outcome: 'halted', message: 'Channel acme.b is halted.' } as const;
    const { answer } = peerWith({ write: () => ((calls += 1) > 1 ? halted : undefined) });
    const { body } = await answer(writeOf(['a', 'b'], { options: { batchSize: 1 } }));
    const failure = { id: 'b', code: 'NOT_ATTEMPTED', message: 'Channel acme.b is halted.', retryable: true };
    expect(JSON.parse(body)).toMatchObject({ succeeded: ['a'], failed: [failure] });
  });

  it('with continueOnError writes to a working channel beside a halted one', async () => {
    const { sql } = suite.database;
    const ledger = embeddedLedger({ sql, origin: 'ledger.test', now: Date.now });
    const assets = embeddedAssets({ ledger, sql, settleWithinMs: 100 });
    const target = anyMapping.find('asset')!;
    const mappings = new Mappings(
      ['lost', 'whole'].map((name) => ({ type: name, target: { ...target, channel: `acme.${name}` } })),
    );
    const { answer } = suite.keep(testPeer({ sql, ledger: assets, owner: 'two', mappings }));
    const request = (round: number, continueOnError: boolean) => {
      const sent = Array.from({ length: 12 }, (_, n) => ({
        id: `${round}-${n}`,
        type: n % 3 === 0 ? 'lost' : 'whole',
        data: {},
      }));
      return { ...writeOf([]), body: { assets: sent, options: { batchSize: 1, continueOnError } } };
    };
    await answer(request(0, true));
    await halt(sql, 'acme.lost');
    const given = await answer(request(1, true));
    expect(given.status).toBe(200);
    const { summary, succeeded, failed } = JSON.parse(given.body);
    expect(summary).toEqual({ total: 12, succeeded: 8, failed: 4, pending: 0 });
    expect(succeeded).toEqual([1, 2, 4, 5, 7, 8, 10, 11].map((n) => `1-${n}`));
    const message = expect.stringContaining('Channel acme.lost is halted');
    expect(failed).toEqual(
      [0, 3, 6, 9].map((n) => ({ id: `1-${n}`, index: n, code: 'NOT_ATTEMPTED', message, retryable: true })),
    );
    await expect(answer(request(2, false))).rejects.toMatchObject({ code: 'LEDGER_UNAVAILABLE', message });
    await ledger.drain();
  });

  it('reports assets not attempted if the ledger became unavailable half-way', async () => {
    let calls = 0;
    const { answer } = peerWith({ write: () => ((calls += 1) > 1 ? { outcome: 'unavailable' } : undefined) });
    const given = await answer(writeOf(['a', 'b'], { options: { batchSize: 1 } }));
    expect(given.status).toBe(200);
    expect(JSON.parse(given.body)).toMatchObject({
      succeeded: ['a'],
      failed: [{ id: 'b', code: 'NOT_ATTEMPTED', retryable: true }],
    });
  });
});

describe('an Idempotency-Key', () => {
  it('does not wait for a lease if its claim was created and the response was lost', async () => {
    const ledger = scriptedLedger();
    const { sql } = suite.database;
    let losing = true;
    const query: Database['query'] = async (statement, options) => {
      const found = await sql.query(statement, options);
      if (!losing || statement.name !== 'peer begin') return found as never[];
      losing = false;
      throw new DatabaseUnavailableError('The response was lost.', { sent: true });
    };
    const peer = keep(testPeer({ sql: { ...sql, query }, ledger, owner: 'deaf' }));
    const other = keep(testPeer({ sql, ledger, owner: 'other' }));
    const request = writeOf(['a'], { key: 'k' });
    await expect(peer.answer(request)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(ledger.writes).toEqual([]);
    // Another process cannot know that no process is working on it.
    await expect(other.answer(request)).rejects.toMatchObject({ code: 'IDEMPOTENCY_IN_PROGRESS' });
    expect(await peer.answer(request)).toMatchObject({ status: 200, replayed: false });
    expect(await other.answer(request)).toMatchObject({ status: 200, replayed: true });
    expect(ledger.writes).toHaveLength(1);
  });

  it('returns the same bytes again, from any process, and writes once', async () => {
    const first = peerWith();
    const second = peerWith();
    const given = await first.answer(writeOf(['a'], { key: 'k' }));
    expect(given).toMatchObject({ status: 200, replayed: false });
    for (const { answer } of [first, second]) {
      expect(await answer(writeOf(['a'], { key: 'k' }))).toEqual({ ...given, replayed: true });
    }
    expect([...first.ledger.writes, ...second.ledger.writes]).toEqual([['a']]);
  });

  it('is rejected for another body, even with an unmapped type, and is separate for each key family', async () => {
    const { answer } = peerWith();
    await answer(writeOf(['a'], { key: 'k' }));
    await expect(answer(writeOf(['b'], { key: 'k' }))).rejects.toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' });
    await expect(answer(writeOf(['a'], { key: 'k', type: 'unmapped' }))).rejects.toMatchObject({
      code: 'IDEMPOTENCY_KEY_REUSED',
    });
    const others = { familyId: 'other', bucket: 'o', limit: 'calls' as const };
    expect(await answer(writeOf(['b'], { key: 'k', caller: others }))).toMatchObject({ replayed: false });
  });

  it('is not claimed by a request with an unmapped type', async () => {
    const { answer } = peerWith();
    await expect(answer(writeOf(['a'], { key: 'k', type: 'unmapped' }))).rejects.toMatchObject({
      code: 'UNKNOWN_CHAINCODE',
    });
    expect(await rows()).toEqual([]);
  });

  it('is validated first', async () => {
    const { answer } = peerWith();
    await expect(answer({ ...writeOf(['a'], { type: 'unmapped' }), idempotencyKeys: ['a b'] })).rejects.toMatchObject({
      code: 'INVALID_IDEMPOTENCY_KEY',
    });
  });

  it('waits briefly for the first request in another process, then reports it as in progress', async () => {
    const { opened, open } = gate();
    const slow = peerWith();
    const ledger = { ...slow.ledger, write: async () => opened.then(() => ({ outcome: 'unavailable' as const })) };
    const first = testPeer({ sql: suite.database.sql, ledger, owner: 'slow' });
    keep(first);
    const running = first.answer(writeOf(['a'], { key: 'k' })).catch((error: unknown) => error);
    await until(async () => (await rows()).length > 0);
    await expect(slow.answer(writeOf(['a'], { key: 'k' }))).rejects.toMatchObject({
      code: 'IDEMPOTENCY_IN_PROGRESS',
      retryAfterSeconds: 1,
    });
    open();
    expect(await running).toMatchObject({ code: 'LEDGER_UNAVAILABLE' });
    // A failed request stores nothing: the key can be reused at once.
    expect(await slow.answer(writeOf(['a'], { key: 'k' }))).toMatchObject({ status: 200, replayed: false });
  });

  it('is not blocked for another body by a request in flight that fails, here or elsewhere', async () => {
    const { opened, open } = gate();
    const other = peerWith();
    const ledger = {
      ...scriptedLedger(),
      write: async () => opened.then(() => ({ outcome: 'unavailable' as const })),
    };
    const first = keep(testPeer({ sql: suite.database.sql, ledger, owner: 'slow' }));
    const running = first.answer(writeOf(['a'], { key: 'k' })).catch((error: unknown) => error);
    await until(async () => (await rows()).length > 0);
    for (const { answer } of [first, other]) {
      await expect(answer(writeOf(['b'], { key: 'k' }))).rejects.toMatchObject({
        code: 'IDEMPOTENCY_IN_PROGRESS',
        retryAfterSeconds: 1,
      });
    }
    open();
    expect(await running).toMatchObject({ code: 'LEDGER_UNAVAILABLE' });
    expect(await other.answer(writeOf(['b'], { key: 'k' }))).toMatchObject({ status: 200, replayed: false });
    // From here on the row says so to every process.
    await expect(first.answer(writeOf(['a'], { key: 'k' }))).rejects.toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' });
    expect(other.ledger.writes).toEqual([['b']]);
  });

  it('returns the result to the body that won, while a loser is still in flight in this process', async () => {
    const { opened, open } = gate();
    const { sql } = suite.database;
    let isHeld = false;
    const query: Database['query'] = async (statement, options) => {
      if (statement.name === 'peer begin' && !isHeld) {
        isHeld = true;
        await opened;
      }
      return sql.query(statement, options);
    };
    const ledger = scriptedLedger();
    const here = keep(testPeer({ sql: { ...sql, query }, ledger, owner: 'here' }));
    const losing = here.answer(writeOf(['loser'], { key: 'k' })).catch((error: unknown) => error);
    await until(async () => isHeld);
    const won = await peerWith().answer(writeOf(['winner'], { key: 'k' }));
    await expect(here.answer(writeOf(['winner'], { key: 'k' }))).rejects.toMatchObject({
      code: 'IDEMPOTENCY_IN_PROGRESS',
    });
    const replaying = here.answer(writeOf(['winner'], { key: 'k' }));
    open();
    expect(await losing).toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' });
    expect(await replaying).toEqual({ ...won, replayed: true });
    expect(ledger.writes).toEqual([]);
  });

  it('reports reuse with another body once the process that held the claim is gone', async () => {
    const never = new Promise<never>(() => undefined);
    const ledger = { ...scriptedLedger(), write: () => never };
    const dead = testPeer({ sql: suite.database.sql, ledger, owner: 'dead', leaseMs: 300 });
    void dead.answer(writeOf(['a'], { key: 'k' }));
    await until(async () => (await rows()).length > 0);
    const alive = peerWith({}, { leaseMs: 300 });
    await expect(alive.answer(writeOf(['b'], { key: 'k' }))).rejects.toMatchObject({ code: 'IDEMPOTENCY_IN_PROGRESS' });
    dead.crash();
    const codeOf = (error: unknown) => (error as { code?: unknown }).code;
    await until(async () => {
      const refusal: unknown = await alive.answer(writeOf(['b'], { key: 'k' })).catch((error: unknown) => error);
      return codeOf(refusal) === 'IDEMPOTENCY_KEY_REUSED';
    });
    expect(await alive.answer(writeOf(['a'], { key: 'k' }))).toMatchObject({ status: 200, replayed: false });
  });

  it('is taken over once the lease of its process has expired', async () => {
    const never = new Promise<never>(() => undefined);
    const dead = testPeer({
      sql: suite.database.sql,
      ledger: { ...scriptedLedger(), write: () => never },
      owner: 'dead',
      leaseMs: 300,
    });
    void dead.answer(writeOf(['a'], { key: 'k' }));
    await until(async () => (await rows()).length > 0);
    const alive = peerWith({}, { leaseMs: 300 });
    // It is alive as long as it renews its lease.
    await new Promise((resolve) => setTimeout(resolve, 500));
    await expect(alive.answer(writeOf(['a'], { key: 'k' }))).rejects.toMatchObject({ code: 'IDEMPOTENCY_IN_PROGRESS' });
    dead.crash();
    let given: SyncAnswer | undefined;
    await until(async () => {
      given = await alive.answer(writeOf(['a'], { key: 'k' })).catch(() => undefined);
      return given !== undefined;
    });
    expect(given).toMatchObject({ status: 200, replayed: false });
    expect(alive.ledger.writes).toEqual([['a']]);
  });

  it('is kept for 30 days', async () => {
    let nowMs = Date.now();
    const { answer } = peerWith({}, { now: () => nowMs });
    const removeOld = () => removeOldJobs(suite.database.sql, nowMs);
    await answer(writeOf(['a'], { key: 'k' }));
    nowMs += 30 * 86_400_000 - 1000;
    expect(await removeOld()).toBe(0);
    nowMs += 2000;
    expect(await removeOld()).toBe(1);
  });
});
