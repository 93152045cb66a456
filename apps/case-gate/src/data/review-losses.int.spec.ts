import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { DatabaseUnavailableError, migrate, openDatabase, type Database } from '@sealgate/storage';
import { preparedPostgres, type ThrowawayPostgres } from '@sealgate/testing';
import { SETUP_MS } from '../../test/running-gate.ts';
import { migrations } from '../gate-migrations.ts';
import { lossProgress } from './loss-progress.ts';
import { lossReview, type ReviewParts } from './review-losses.ts';

let postgres: ThrowawayPostgres;
let sql: Database;
beforeAll(async () => {
  postgres = await preparedPostgres('gate', (url) => migrate({ url, sets: migrations }));
  const limits = { maxConnections: 4, connectTimeoutMs: 2000, deadlineMs: 10_000 };
  sql = openDatabase({ url: postgres.url, applicationName: 'test', ...limits });
}, SETUP_MS);
afterAll(async () => {
  await sql.close();
  await postgres.stop();
});

const run = (text: string, values: unknown[] = []) => sql.query<Record<string, unknown>>({ text, values });
beforeEach(() => run('TRUNCATE gate.loss_reviews, gate.reviewed_losses, gate.eligibility'));

/** Expires the leases, as if their process had crashed half a minute ago. */
const leaseEnds = () => run(`UPDATE gate.loss_reviews SET leased_until = clock_timestamp() - interval '1 second'`);

describe('the progress of a review', () => {
  const page = (place: string, more: object = {}) => ({ place: ['live', place], changed: 1, isLast: false, ...more });

  it('leases each part to one process, until the lease ends', async () => {
    const [one, two] = [lossProgress(sql, 'one'), lossProgress(sql, 'two')];
    expect(await one.claim(1, 'key')).toEqual(['', '']);
    expect(await two.claim(1, 'key')).toBeUndefined();
    expect(await two.claim(1, 'venue')).toEqual(['', '']);
    expect(await two.claim(2, 'key')).toEqual(['', '']);
    expect(await one.keep(1, 'key', page('b'))).toEqual(['live', 'b']);
    expect(await one.claim(1, 'key')).toEqual(['live', 'b']);
    await leaseEnds();
    expect(await two.claim(1, 'key')).toEqual(['live', 'b']);
    // The process whose lease was taken over stops here.
    expect(await one.keep(1, 'key', page('c'))).toBeUndefined();
    expect(await two.keep(1, 'key', page('d', { isLast: true }))).toBeUndefined();
    for (const each of [one, two]) expect(await each.claim(1, 'key')).toBeUndefined();
  });

  it('finishes once, when every part is done, and leaves no rows behind', async () => {
    const [one, two] = [lossProgress(sql, 'one'), lossProgress(sql, 'two')];
    const parts = ['key', 'venue'];
    const at = new Date();
    expect(await one.finish(1, parts, at)).toBeUndefined();
    await one.claim(1, 'key');
    await one.keep(1, 'key', page('b', { changed: 3 }));
    await one.keep(1, 'key', page('c', { changed: 2, isLast: true }));
    await two.claim(1, 'venue');
    expect(await one.finish(1, parts, at)).toBeUndefined();
    await two.keep(1, 'venue', page('d', { changed: 0, isLast: true }));
    const finished = await Promise.all([one.finish(1, parts, at), two.finish(1, parts, at)]);
    expect(finished.filter((counts) => counts !== undefined)).toEqual([
      new Map([
        ['key', 5],
        ['venue', 0],
      ]),
    ]);
    expect(await run('SELECT epoch FROM gate.reviewed_losses')).toEqual([{ epoch: 1 }]);
    expect(await run('SELECT * FROM gate.loss_reviews')).toEqual([]);
    expect(await two.claim(1, 'key')).toBeUndefined();
  });
});

describe('the review of a declared loss', () => {
  /** A process. Each settled subject is one call of `inTransaction`, whose order the tests check. */
  function processOf(worker: string, settled: string[], endsAfter = Number.POSITIVE_INFINITY) {
    const lines: string[] = [];
    let calls = 0;
    const inTransaction = async () => {
      calls += 1;
      if (calls > endsAfter) throw new DatabaseUnavailableError('the process ends here', { sent: true });
      settled.push(worker);
      return true;
    };
    // The ledger has lost nothing here: rows are due by time.
    const versions = { missing: () => Promise.resolve(new Set()), recordIds: undefined };
    const parts = {
      sql,
      inTransaction,
      inSql: inTransaction,
      versions,
      seen: { all: () => [] },
      losses: () => Promise.resolve([{ epoch: 1, keptAtMs: 0 }]),
      sealsAreInLog: true,
      progress: lossProgress(sql, worker),
      pageRows: 2,
      now: Date.now,
      onRefused: (what: string, error: unknown) => settled.push(`${what} refused: ${String(error)}`),
      log: { warn: (event: string, fields: object) => lines.push(`${event} ${JSON.stringify(fields)}`) },
    } as unknown as ReviewParts;
    return { review: lossReview(parts), lines };
  }

  const subjects = (count: number) =>
    run(
      `INSERT INTO gate.eligibility SELECT * FROM jsonb_populate_recordset(NULL::gate.eligibility,
         (SELECT jsonb_agg(jsonb_build_object('environment', 'live', 'subject_ref', 'subj_' || n, 'record_version', 1,
            'status', 'eligible', 'document', '{}', 'mac', 'x', 'changed_at', now(), 'folded', '')) FROM generate_series(1, $1) n))`,
      [count],
    );

  it('continues where the previous process stopped, not at the first subject', async () => {
    await subjects(9);
    const settled: string[] = [];
    // Two pages and one subject of the third.
    await expect(processOf('one', settled, 5).review()).rejects.toThrow('the process ends here');
    expect(settled).toHaveLength(5);
    expect(await run('SELECT part, place, changed_rows FROM gate.loss_reviews')).toEqual([
      { part: 'eligibility', place: ['live', 'subj_4'], changed_rows: 4 },
    ]);
    const two = processOf('two', settled);
    // Only other parts are reviewed while the lease lasts.
    await two.review();
    expect(settled).toHaveLength(5);
    await leaseEnds();
    await two.review();
    // The third page again, whose end was not saved, and the rest.
    expect(settled.filter((worker) => worker === 'two')).toHaveLength(5);
    expect(two.lines.join('')).toMatch(/declared_loss_reviewed.*"rows":9/);
    await two.review();
    await processOf('three', settled).review();
    expect(settled).toHaveLength(10);
  });

  it('reviews every subject once with two processes at once', async () => {
    await subjects(9);
    const settled: string[] = [];
    const [one, two] = [processOf('one', settled), processOf('two', settled)];
    await Promise.all([one.review(), two.review()]);
    await Promise.all([one.review(), two.review()]);
    expect(settled).toHaveLength(9);
    expect(new Set(settled).size).toBe(1);
    expect([...one.lines, ...two.lines].filter((line) => line.includes('declared_loss_reviewed'))).toHaveLength(1);
  });
});
