import { describe, expect, it } from '@jest/globals';
import { DatabaseUnavailableError, removalStatement } from '@sealgate/storage';
import { scansOf, unboundedTimes, until } from '@sealgate/testing';
import { oldJobs } from './data/job-statements.ts';
import { waitingJobs } from './data/jobs-store.ts';
import { removeOldJobs, testPeer, writeOf } from './testing/open-test-peer.ts';
import { peerSuite } from './testing/peer-suite.ts';
import { refusedFor, scriptedLedger, type Script } from './testing/scripted-ledger.ts';

const suite = peerSuite();
const { peerWith, rows } = suite;

describe('a write whose outcome is unknown', () => {
  const unknownOnce = (): Script => {
    let calls = 0;
    return { write: () => ((calls += 1) === 1 ? { outcome: 'unknown', transactionId: 'tx' } : undefined) };
  };

  it('is pending with a job, which reports the outcome', async () => {
    const { answer, jobs, ledger } = peerWith(unknownOnce());
    const given = await answer(writeOf(['a', 'b', 'c'], { options: { batchSize: 2 } }));
    expect(given.status).toBe(202);
    expect(JSON.parse(given.body)).toMatchObject({
      summary: { total: 3, succeeded: 0, failed: 1, pending: 2 },
      pending: [
        { id: 'a', index: 0, transactionId: 'tx' },
        { id: 'b', index: 1, transactionId: 'tx' },
      ],
      failed: [{ id: 'c', code: 'NOT_ATTEMPTED' }],
      jobId: given.jobId,
    });
    await until(async () => (await jobs.find(given.jobId, 'family'))?.status === 'done');
    const done = await jobs.find(given.jobId, 'family');
    // Assets reported as not attempted stay so: the sender must send them again.
    expect(JSON.parse(done?.result ?? '')).toMatchObject({
      summary: { total: 3, succeeded: 2, failed: 1, pending: 0 },
      failed: [{ id: 'c', code: 'NOT_ATTEMPTED' }],
    });
    expect(ledger.settled).toEqual(['tx']);
    expect(ledger.writes).toEqual([
      ['a', 'b'],
      ['a', 'b'],
    ]);
  });

  it('has no table that a row at the end of time could make unreadable', async () => {
    expect(await unboundedTimes(suite.database.sql, 'peer')).toEqual([]);
  });

  it('stays the response of its Idempotency-Key, also when the job is done', async () => {
    const { answer, jobs } = peerWith(unknownOnce());
    const given = await answer(writeOf(['a'], { key: 'k' }));
    await until(async () => (await jobs.find(given.jobId, 'family'))?.status === 'done');
    expect(await answer(writeOf(['a'], { key: 'k' }))).toEqual({ ...given, replayed: true });
  });

  it('counts as waiting until its outcome is known', async () => {
    let isKnown = false;
    const { answer, jobs } = peerWith({
      write: () => ({ outcome: 'unknown', transactionId: 'tx' }),
      settle: () =>
        isKnown
          ? { outcome: 'committed', transactions: [{ transactionId: 'tx', blockNumber: 9, assetIds: ['a'] }] }
          : { outcome: 'unknown', transactionId: 'tx' },
    });
    const { sql } = suite.database;
    expect(await waitingJobs(sql)).toMatchObject({ what: 'jobs', count: 0, oldestAt: undefined });
    const { jobId } = await answer(writeOf(['a']));
    expect(await waitingJobs(sql)).toMatchObject({ count: 1, oldestAt: expect.any(Date) });
    isKnown = true;
    await until(async () => (await jobs.find(jobId, 'family'))?.status === 'done');
    expect(await waitingJobs(sql)).toMatchObject({ count: 0 });
  });

  it('stays running while it is unknown, and is never reported as failed', async () => {
    let isKnown = false;
    const { answer, jobs } = peerWith({
      write: () => ({ outcome: 'unknown', transactionId: 'tx' }),
      settle: () =>
        isKnown
          ? { outcome: 'committed', transactions: [{ transactionId: 'tx', blockNumber: 9, assetIds: ['a'] }] }
          : { outcome: 'unknown', transactionId: 'tx' },
    });
    const given = await answer(writeOf(['a']));
    await until(async () => (await rows()).length > 0);
    expect(await jobs.find(given.jobId, 'family')).toMatchObject({ status: 'running', result: undefined });
    isKnown = true;
    await until(async () => (await jobs.find(given.jobId, 'family'))?.status === 'done');
    const done = await jobs.find(given.jobId, 'family');
    expect(JSON.parse(done?.result ?? '')).toMatchObject({
      succeeded: ['a'],
      transactions: [{ transactionId: 'tx', blockNumber: 9, assetIds: ['a'] }],
    });
  });

  it('returns a job id while the job store is unavailable, and stores the job once it is back', async () => {
    let isAway = true;
    const sql = Object.create(suite.database.sql) as typeof suite.database.sql;
    sql.query = async (statement, options) => {
      if (isAway) throw new DatabaseUnavailableError('Away.', { sent: false });
      return suite.database.sql.query(statement, options);
    };
    const { answer, jobs } = peerWith(unknownOnce(), { sql });
    const given = await answer(writeOf(['a']));
    expect(given.status).toBe(202);
    expect(await jobs.find(given.jobId, 'family')).toMatchObject({ status: 'running' });
    expect(await jobs.find(given.jobId, 'another')).toBeUndefined();
    isAway = false;
    await until(async () => (await jobs.find(given.jobId, 'family'))?.status === 'done');
  });
});

describe('Prefer: respond-async', () => {
  /** Fails the first INSERT of a job, after writing it or instead. */
  const losing = (sent: boolean, isWritten: boolean): typeof suite.database.sql => {
    const sql = Object.create(suite.database.sql) as typeof suite.database.sql;
    let isLost = false;
    sql.query = async (statement, options) => {
      const isPromise = statement.text.includes('family_id, promised,');
      if (isLost || !isPromise) return suite.database.sql.query(statement, options);
      isLost = true;
      if (isWritten) await suite.database.sql.query(statement, options);
      throw new DatabaseUnavailableError('No answer.', { sent });
    };
    return sql;
  };

  it.each([
    ['written', true],
    ['not written', false],
  ])('has a job if the database does not answer, and it was %s', async (_name, isWritten) => {
    const ledgers: { readonly writes: readonly (readonly string[])[] }[] = [];
    for (const more of [{}, { key: 'k' }]) {
      const { answer, jobs, ledger } = peerWith({}, { sql: losing(true, isWritten) });
      ledgers.push(ledger);
      const given = await answer(writeOf(['a'], { prefersAsync: true, ...more }));
      expect(given).toMatchObject({ status: 202, isAsync: true });
      await until(async () => (await jobs.find(given.jobId, 'family'))?.status === 'done');
      // The first peer still runs, and may have taken the job of the second one.
      expect(ledgers.flatMap(({ writes }) => writes)).toEqual(ledgers.map(() => ['a']));
    }
  });

  it('is rejected if it is known that no job was stored', async () => {
    const { answer } = peerWith({}, { sql: losing(false, false) });
    await expect(answer(writeOf(['a'], { prefersAsync: true }))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(await rows()).toEqual([]);
  });

  it('returns a job at once, and the job has all results', async () => {
    const { answer, jobs } = peerWith({ write: (ids) => (ids.includes('b') ? refusedFor('b') : undefined) });
    const given = await answer(writeOf(['a', 'b'], { prefersAsync: true }));
    expect(given).toMatchObject({ status: 202, isAsync: true, body: `{"jobId":"${given.jobId}","status":"queued"}` });
    await until(async () => (await jobs.find(given.jobId, 'family'))?.status === 'done');
    const done = await jobs.find(given.jobId, 'family');
    expect(JSON.parse(done?.result ?? '')).toMatchObject({
      summary: { total: 2, succeeded: 1, failed: 1, pending: 0 },
    });
    expect(await jobs.find(given.jobId, 'another')).toBeUndefined();
  });

  it('returns the same job for the same key', async () => {
    const { answer, ledger, jobs } = peerWith();
    const given = await answer(writeOf(['a'], { prefersAsync: true, key: 'k' }));
    expect(await answer(writeOf(['a'], { prefersAsync: true, key: 'k' }))).toEqual({ ...given, replayed: true });
    await until(async () => (await jobs.find(given.jobId, 'family'))?.status === 'done');
    expect(ledger.writes).toEqual([['a']]);
  });

  it('keeps its job queued while the ledger is unavailable', async () => {
    let isAway = true;
    const { answer, jobs } = peerWith({ write: () => (isAway ? { outcome: 'unavailable' } : undefined) });
    const given = await answer(writeOf(['a'], { prefersAsync: true }));
    await new Promise((resolve) => setTimeout(resolve, 400));
    expect(await jobs.find(given.jobId, 'family')).toMatchObject({ result: undefined });
    isAway = false;
    await until(async () => (await jobs.find(given.jobId, 'family'))?.status === 'done');
  });

  it('has its job continued by another process if the first one is gone', async () => {
    const never = new Promise<never>(() => undefined);
    const first = scriptedLedger();
    const dead = testPeer({
      sql: suite.database.sql,
      ledger: {
        ...first,
        write: (target, assets) => (assets.some(({ id }) => id === 'b') ? never : first.write(target, assets)),
      },
      owner: 'gone',
      leaseMs: 300,
    });
    const options = { batchSize: 1 };
    const given = await dead.answer(writeOf(['a', 'b'], { prefersAsync: true, options }));
    await until(async () => first.writes.length > 0);
    dead.crash();
    const { jobs } = peerWith({}, { leaseMs: 300 });
    await until(async () => (await jobs.find(given.jobId, 'family'))?.status === 'done');
    const done = await jobs.find(given.jobId, 'family');
    expect(JSON.parse(done?.result ?? '')).toMatchObject({ succeeded: ['a', 'b'] });
  });

  it('is rejected as overload if too many jobs are queued', async () => {
    const { answer } = peerWith({}, { runsJobs: false, maxWaiting: 2 });
    await answer(writeOf(['a'], { prefersAsync: true }));
    await answer(writeOf(['b'], { prefersAsync: true }));
    await expect(answer(writeOf(['c'], { prefersAsync: true }))).rejects.toMatchObject({ code: 'OVERLOADED' });
  });

  it('keeps its result for 24 hours', async () => {
    let nowMs = Date.now();
    const { answer, jobs } = peerWith({}, { now: () => nowMs });
    const removeOld = () => removeOldJobs(suite.database.sql, nowMs);
    const given = await answer(writeOf(['a'], { prefersAsync: true }));
    await until(async () => (await jobs.find(given.jobId, 'family'))?.status === 'done');
    nowMs += 86_400_000 - 1000;
    expect(await removeOld()).toBe(0);
    expect(await jobs.find(given.jobId, 'family')).toBeDefined();
    nowMs += 2000;
    expect(await jobs.find(given.jobId, 'family')).toBeUndefined();
    expect(await removeOld()).toBe(1);
  });

  it('is removed without a table scan, however many there are', async () => {
    const { sql } = suite.database;
    await sql.query({
      text: `INSERT INTO peer.jobs (job_id, family_id, claim, fingerprint, promised, status, answer_status, created_at, done_at)
             SELECT 'j' || n, 'f', CASE WHEN n % 2 = 0 THEN decode(md5(n::text), 'hex') END, CASE WHEN n % 2 = 0 THEN 'f' END,
                    n % 2 = 1, 'done', 200, to_timestamp(n), to_timestamp(n) FROM generate_series(1, 5000) n`,
    });
    await sql.query({ text: 'ANALYZE peer.jobs' });
    for (const [name, index] of [
      ['results', 'jobs_done'],
      ['claims', 'jobs_done_claimed'],
      ['unanswered', 'jobs_unanswered'],
    ] as const)
      expect(await scansOf(sql, removalStatement(oldJobs(Date.now())[name], 1000))).toEqual({
        whole: [],
        indexes: [index],
      });
    expect(await removeOldJobs(sql, Date.now())).toBe(5000);
  });
});
