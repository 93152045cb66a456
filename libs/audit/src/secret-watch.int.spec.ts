import { hash } from 'node:crypto';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ServerSecrets, tokenHashes, type HashedSecrets } from '@sealgate/auth';
import { createLog, Metrics } from '@sealgate/observability';
import { migrate, openDatabase, type Database } from '@sealgate/storage';
import { testClock, throwawayPostgres, unboundedTimes, until, type ThrowawayPostgres } from '@sealgate/testing';
import { auditMigrations, secretWatch, startSecretWatch, type SecretUse } from './index.ts';

let server: ThrowawayPostgres;
let sql: Database;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
let clock = testClock();

beforeAll(async () => {
  server = await throwawayPostgres();
  await migrate({ url: server.url, sets: [auditMigrations('desk')] });
  const options = { applicationName: 'secrets-test', maxConnections: 4, connectTimeoutMs: 5_000, deadlineMs: 20_000 };
  sql = openDatabase({ ...options, url: server.url });
  await sql.query({ text: 'CREATE TABLE desk.notes (mac text, claim text, at timestamptz)' });
}, 120_000);
afterAll(async () => {
  await sql.close();
  await server.stop();
});
beforeEach(async () => {
  clock = testClock();
  await sql.query({ text: 'TRUNCATE desk.notes, desk.server_secrets, desk.secret_holders, desk.accepted_secrets' });
});

const valueOf = (id: string) => id.padEnd(40, 'x');
const ofIds = (ids: string) =>
  ServerSecrets.parse(
    ids
      .split(',')
      .map((id) => `${id}:${valueOf(id)}`)
      .join(),
  );

const USES: readonly SecretUse[] = [
  {
    what: 'notes',
    text: `SELECT mac AS secret_id, count(*) AS rows, NULL AS last_at FROM desk.notes WHERE mac <> $1 GROUP BY 1`,
  },
  {
    what: 'claims',
    keptMs: 30 * DAY_MS,
    text: 'SELECT claim AS secret_id, count(*) AS rows, max(at) AS last_at FROM desk.notes WHERE claim IS NOT NULL GROUP BY 1',
  },
  { what: 'cursors', keptMs: DAY_MS },
];

function process(name: string, ids: string, { secrets = ofIds(ids), uses = USES, accepted = {} } = {}) {
  const lines: string[] = [];
  const stream = new PassThrough();
  stream.on('data', (chunk: Buffer) => lines.push(...chunk.toString('utf8').split('\n').filter(Boolean)));
  const metrics = new Metrics('test', { processMetrics: false });
  const log = createLog({ service: 'test', level: 'debug', stream, now: clock.now });
  const options = { sql, schema: 'desk', secrets, process: name, uses, accepted, now: clock.now, log, metrics };
  return { watch: secretWatch(options), options, metrics, lines };
}

const note = (mac: string, claim: string | null = null) =>
  sql.query({ text: 'INSERT INTO desk.notes VALUES ($1, $2, $3)', values: [mac, claim, new Date(clock.now())] });
const secretsOf = async ({ watch }: ReturnType<typeof process>) =>
  Object.fromEntries((await watch.report()).secrets.map(({ id, ...rest }) => [id, rest]));

describe('secretWatch', () => {
  it('has no table that a row at the end of time could make unreadable', async () => {
    expect((await unboundedTimes(sql, 'desk')).filter((name) => !name.startsWith('notes.'))).toEqual([]);
    for (const at of ['infinity', '-infinity', '10000-01-01', '0044-03-15 BC']) {
      for (const text of [
        `INSERT INTO desk.secret_holders (process, ids, seen_at) VALUES ('p', '{s}', $1)`,
        `INSERT INTO desk.server_secrets (secret_id, check_value, first_seen_at, last_made_at) VALUES ('s', '', now(), $1)`,
        `INSERT INTO desk.server_secrets (secret_id, check_value, first_seen_at) VALUES ('s', '', $1)`,
        `INSERT INTO desk.accepted_secrets (name, last_used_at) VALUES ('A:1', $1)`,
        `UPDATE desk.audit_lanes SET seq = seq + 1, at = $1 WHERE lane = 1`,
      ])
        await expect(sql.query({ text, values: [at] })).rejects.toMatchObject({ code: '23514' });
    }
  });

  it('has no list that a null or a second dimension could make unreadable', async () => {
    for (const lists of [`'{s}', '{NULL}'`, `'{NULL}', NULL`, `'{{a,b},{c,d}}', NULL`, `'{s}', '{{a,b},{c,d}}'`]) {
      const text = `INSERT INTO desk.secret_holders (process, seen_at, ids, accepts) VALUES ('p', now(), ${lists})`;
      await expect(sql.query({ text })).rejects.toMatchObject({ code: expect.stringMatching(/^(23514|0A000)$/) });
    }
  });

  it('reports per secret how many processes sign, verify, and lack it', async () => {
    const [one, two] = [process('p1', 'old'), process('p2', 'old,new')];
    await one.watch.turn();
    await two.watch.turn();
    expect(await secretsOf(one)).toMatchObject({
      old: { makes: 2, checks: 0, unaware: 0 },
      new: { makes: 0, checks: 1, unaware: 1, lastMadeAt: null, needs: [] },
    });
    const { processes } = await two.watch.report();
    const seenAt = '2026-01-01T00:00:00.000Z';
    expect(processes).toEqual([
      { process: 'p1', ids: ['old'], seenAt },
      { process: 'p2', ids: ['old', 'new'], seenAt },
    ]);
    expect(JSON.stringify(await sql.query({ text: 'SELECT * FROM desk.server_secrets' }))).not.toContain('xxx');
  });

  it('counts stored rows per secret and reports until when a claim needs it', async () => {
    const one = process('p1', 'new,old');
    await one.watch.turn();
    await note('old', 'old');
    clock.advance(DAY_MS);
    await note('new', 'old');
    await one.watch.turn();
    const { old, new: fresh } = await secretsOf(one);
    expect(old?.needs).toEqual([
      { what: 'notes', rows: 1, until: null },
      { what: 'claims', rows: 2, until: '2026-02-01T00:00:00.000Z' },
    ]);
    expect(fresh?.needs).toEqual([{ what: 'cursors', rows: null, until: '2026-01-03T00:01:00.000Z' }]);
  });

  it('uses the last time of use if nothing is stored, also of a process that is gone', async () => {
    const [old, next] = [process('p1', 'old,new'), process('p2', 'new,old')];
    await old.watch.turn();
    clock.advance(30_000);
    await old.watch.leave();
    await next.watch.turn();
    expect((await secretsOf(next))['old']).toMatchObject({
      makes: 0,
      lastMadeAt: '2026-01-01T00:00:30.000Z',
      needs: [{ what: 'cursors', rows: null, until: '2026-01-02T00:01:30.000Z' }],
    });
    clock.advance(DAY_MS + MINUTE_MS);
    await next.watch.turn();
    expect((await secretsOf(next))['old']).toMatchObject({ checks: 1, needs: [] });
  });

  it('is settled once every live process has the same active secret', async () => {
    const [one, two] = [process('p1', 'old,new'), process('p2', 'new,old')];
    expect(await two.watch.isSettled()).toBe(false);
    await two.watch.turn();
    expect(await two.watch.isSettled()).toBe(true);
    await one.watch.turn();
    expect([await one.watch.isSettled(), await two.watch.isSettled()]).toEqual([false, false]);
    // A killed process records nothing more.
    clock.advance(2 * MINUTE_MS);
    await two.watch.turn();
    expect(await two.watch.isSettled()).toBe(false);
    clock.advance(MINUTE_MS);
    expect(await two.watch.isSettled()).toBe(true);
  });

  it('reports rows that need a missing secret in one log line and a metric', async () => {
    await note('old', 'old');
    await note('old');
    const one = process('p1', 'new');
    await one.watch.turn();
    const reported = one.lines.filter((line) => line.includes('server_secret_missing'));
    expect(reported).toHaveLength(1);
    expect(reported[0]).toContain('2 notes; 1 claims until 2026-01-31T00:00:00.000Z');
    expect(reported[0]).toContain('"error"');
    expect(await one.metrics.text()).toContain('server_secret_missing_rows{service="test"} 3');
    clock.advance(MINUTE_MS);
    await one.watch.turn();
    expect(one.lines.filter((line) => line.includes('server_secret_missing'))).toHaveLength(1);

    const whole = process('p2', 'new,old');
    await whole.watch.turn();
    expect(whole.lines).toEqual([]);
    expect(await whole.metrics.text()).toContain('server_secret_missing_rows{service="test"} 0');
  });

  it('reports a different value under a known id, without the values', async () => {
    await process('p1', 's1').watch.turn();
    const other = process('p2', '', { secrets: ServerSecrets.parse(`s1:${'other-value'.repeat(4)}`) });
    await other.watch.turn();
    clock.advance(MINUTE_MS);
    await other.watch.turn();
    const reported = other.lines.filter((line) => line.includes('server_secret_differs'));
    expect(reported).toHaveLength(1);
    expect(reported[0]).not.toContain('other-value');
  });

  describe('accepted tokens and keys', () => {
    const hashOf = (token: string) => hash('sha256', token, 'hex');
    const idOf = (token: string) => hashOf(token).slice(0, 8);
    const listOf = (...tokens: string[]) => tokenHashes(() => tokens.map(hashOf).join());
    const accepting = (name: string, list: HashedSecrets) => process(name, 's1', { accepted: { TOKENS: list } });

    it('reports which processes accept each, and when it was last presented', async () => {
      const [before, after] = [listOf('old'), listOf('old', 'new')];
      const [one, two] = [accepting('p1', before), accepting('p2', after)];
      before.find('old');
      before.find('guessed');
      await one.watch.turn();
      clock.advance(MINUTE_MS);
      after.find('new');
      await two.watch.turn();
      const [oldUse, newUse] = ['2026-01-01T00:00:00.000Z', '2026-01-01T00:01:00.000Z'];
      const accepted = [
        { variable: 'TOKENS', id: idOf('old'), accepts: 2, unaware: 0, lastUsedAt: oldUse },
        { variable: 'TOKENS', id: idOf('new'), accepts: 1, unaware: 1, lastUsedAt: newUse },
      ];
      const { accepted: reported } = await one.watch.report();
      expect(reported).toHaveLength(2);
      expect(reported).toEqual(expect.arrayContaining(accepted));
      clock.advance(MINUTE_MS);
      await one.watch.turn();
      expect((await one.watch.report()).accepted).toEqual(reported);
    });

    it('keeps uses from before a process left or while the database was away', async () => {
      const list = listOf('one', 'two');
      const { options, watch } = accepting('p1', list);
      list.find('one');
      let isAway = true;
      const sometimes = {
        query: (...asked: Parameters<Database['query']>) =>
          isAway ? Promise.reject(new Error('away')) : sql.query(...asked),
      } as Database;
      const metrics = new Metrics('other', { processMetrics: false });
      const unlucky = secretWatch({ ...options, sql: sometimes, process: 'p2', metrics });
      await expect(unlucky.turn()).rejects.toThrow('away');
      isAway = false;
      await unlucky.turn();
      list.find('two');
      await unlucky.leave();
      await watch.turn();
      expect((await watch.report()).accepted.map(({ accepts, lastUsedAt }) => [accepts, lastUsedAt])).toEqual([
        [1, '2026-01-01T00:00:00.000Z'],
        [1, '2026-01-01T00:00:00.000Z'],
      ]);
    });

    it('ignores processes of a version that does not report them', async () => {
      const { watch } = accepting('p1', listOf('one'));
      await watch.turn();
      const text = `INSERT INTO desk.secret_holders (process, ids, seen_at) VALUES ('before', '{s1}', $1)`;
      await sql.query({ text, values: [new Date(clock.now())] });
      expect((await watch.report()).accepted).toMatchObject([{ accepts: 1, unaware: 0, lastUsedAt: null }]);
    });

    it('reports an unreadable list once, with its name', async () => {
      let text = hashOf('one');
      let nowMs = 0;
      const list = tokenHashes(
        () => text,
        () => nowMs,
      );
      const { watch, lines } = accepting('p1', list);
      await watch.turn();
      [text, nowMs] = ['raw-token', 5000];
      await watch.turn();
      await watch.turn();
      const reported = lines.filter((line) => line.includes('accepted_secrets_unread'));
      expect(reported).toEqual([expect.stringContaining('TOKENS: Not a SHA-256 hash')]);
      expect(reported[0]).not.toContain('raw-token');
      expect((await watch.report()).accepted).toMatchObject([{ id: idOf('one'), accepts: 1 }]);
    });
  });

  it('runs in the background, and tolerates missing tables and an unreachable database', async () => {
    const { options, lines } = process('p1', 's1');
    const releases: (() => Promise<void>)[] = [];
    const own = (_: string, release: () => Promise<void>) => void releases.push(release);
    const failing = { query: () => Promise.reject(new Error('no such table')) };
    const newMetrics = () => new Metrics('other', { processMetrics: false });
    startSecretWatch({ ...options, own, sql: failing, metrics: newMetrics() });
    const watch = startSecretWatch({ ...options, own, metrics: newMetrics() });
    await until(async () => (await watch.report()).processes.length === 1);
    for (const release of releases) await release();
    expect((await watch.report()).processes).toEqual([]);
    expect((await watch.report()).secrets).toMatchObject([{ id: 's1', needs: [{ what: 'cursors' }] }]);
    expect(lines.filter((line) => !line.includes('"debug"'))).toEqual([]);
  });
});
