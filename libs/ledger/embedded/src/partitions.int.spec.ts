import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, createWriteStream, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { checkpointText, TileTree } from '@sealgate/merkle';
import { createLog, Metrics } from '@sealgate/observability';
import { openDatabase } from '@sealgate/storage';
import { holdLock, installedPostgres, throwawayPostgres, until } from '@sealgate/testing';
import { embeddedLedger } from './embedded-ledger.ts';
import { keepPartitionsAhead, makePartitions } from './partitions.ts';
import { openTestLedger, ORIGIN, type TestLedger } from './testing/open-test-ledger.ts';
import { commitTrees } from './tile-store.ts';

const WIDTH = 2 ** 20;
const AHEAD = 4;
const recordOf = (id: string) => ({ id, type: 'asset', owner: null, data: '{}', extra: null });

/** A channel signed up to `size`, as if its records were archived: data below the edge of a tree is not read. */
async function startAt({ sql, signer }: TestLedger, channel: string, size: number): Promise<void> {
  const edge = Array.from({ length: 7 }, (_, level) => {
    const count = Math.floor(size / 256 ** level);
    return {
      level,
      index: Math.floor(count / 256),
      width: count % 256,
      hashes: Buffer.alloc(32 * (count % 256), level),
    };
  }).filter(({ width }) => width > 0);
  const root = TileTree.from(size, edge).root();
  const note = signer.sign(checkpointText({ origin: `${ORIGIN}/${channel}`, size, root }));
  await sql.query({
    text: `INSERT INTO ledger.channels (channel, network, size) VALUES ($1, 'acme', $2)`,
    values: [channel, size],
  });
  await sql.query(commitTrees([{ log: channel, tiles: edge, size, root, note }]));
}

const partitions = async ({ sql }: TestLedger): Promise<number[]> => {
  const text = `SELECT substr(c.relname, 9)::int AS n FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
                 WHERE i.inhparent = 'ledger.records'::regclass ORDER BY 1`;
  return (await sql.query<{ n: number }>({ text })).map(({ n }) => n);
};

/** Drops the partitions made ahead. */
async function dropFrom(test: TestLedger, first: number): Promise<void> {
  for (const n of (await partitions(test)).filter((each) => each >= first))
    await test.sql.query({ text: `DROP TABLE ledger.records_${n}` });
}

/** Writes to a channel concurrently until it has so many records. Returns how often a table lock was waited for. */
async function writeUntil(
  test: TestLedger,
  channel: string,
  size: number,
): Promise<{ waits: number; refused: unknown[] }> {
  const refused: unknown[] = [];
  let [waits, head, made] = [0, 0, 0];
  const write = async () => {
    while (head < size) {
      const records = Array.from({ length: 20 }, () => recordOf(`w${(made += 1)}`));
      try {
        const result = await test.ledger.append({ network: 'acme', channel, note: '', records });
        head = Math.max(head, 'records' in result ? (result.records.at(-1)?.index ?? 0) : 0);
      } catch (error) {
        refused.push(error);
        if (refused.length > 10) return;
      }
    }
  };
  const writers = [1, 2, 3, 4].map(write);
  let isOver = false;
  const all = Promise.all(writers).finally(() => (isOver = true));
  while (!isOver) {
    const text = `SELECT count(*)::int AS waits FROM pg_locks WHERE NOT granted AND locktype = 'relation'`;
    const [row] = await test.sql.query<{ waits: number }>({ text });
    waits += row!.waits;
  }
  await all;
  return { waits, refused };
}

function startMaker({ sql }: TestLedger) {
  const lines: string[] = [];
  const stream = new PassThrough().on('data', (line: Buffer) => lines.push(String(line)));
  const metrics = new Metrics('test', { processMetrics: false });
  const log = createLog({ service: 'test', level: 'info', stream, now: Date.now });
  return { stop: keepPartitionsAhead(sql, { log, metrics, everyMs: 100 }), lines, metrics };
}

const signedUpTo = async ({ ledger }: TestLedger, channel: string): Promise<number> =>
  Number(((await ledger.checkpoint(channel)) ?? '\n0').split('\n')[1]);

describe('partitions', () => {
  let test: TestLedger;
  const opened: { close(): Promise<void> }[] = [];
  beforeEach(async () => {
    test = await openTestLedger();
  }, 120_000);
  afterEach(async () => {
    for (const each of opened.splice(0)) await each.close();
    await test.close();
  });
  const hold = async (statement: string) => {
    const held = await holdLock(test.url, statement);
    opened.push({ close: () => held.release() });
    return held;
  };
  const DUMP = 'LOCK TABLE ledger.records, ledger.channels, ledger.ids, ledger.claims IN ACCESS SHARE MODE';

  it('are created ahead of the longest channel, four and no more', async () => {
    expect(await partitions(test)).toEqual([0, 1, 2, 3, 4]);
    await test.sql.query({ text: `SELECT ledger.open_channel('acme', 'acme.long')` });
    await test.sql.query({ text: 'UPDATE ledger.channels SET size = $1', values: [7 * WIDTH - 1] });
    for (let times = 0; times < 3; times += 1)
      expect(await makePartitions(test.sql)).toEqual({ ahead: AHEAD, wanted: AHEAD });
    expect(await partitions(test)).toEqual([0, 1, 2, 3, 4, 6, 7, 8, 9, 10]);
    const alike = await test.sql.query({
      text: `SELECT DISTINCT pg_get_constraintdef(oid) AS is FROM pg_constraint
              WHERE conrelid IN ('ledger.records_0'::regclass, 'ledger.records_10'::regclass) AND contype <> 'n'`,
    });
    expect(alike).toEqual([{ is: 'PRIMARY KEY (channel_id, idx)' }]);
  });

  it('are created during a dump and a long read, and no write over the boundary waits', async () => {
    await startAt(test, 'acme.full', WIDTH - 200);
    await dropFrom(test, 1);
    await hold(DUMP);
    await hold('SELECT count(*) FROM ledger.records');
    const maker = startMaker(test);
    await test.integrator.start();
    expect(await writeUntil(test, 'acme.full', WIDTH + 400)).toEqual({ waits: 0, refused: [] });
    await until(async () => (await partitions(test)).length === AHEAD + 2);
    await until(async () => (await signedUpTo(test, 'acme.full')) > WIDTH + 400);
    await maker.stop();
  }, 120_000);

  it('wait for ANALYZE and similar, which blocks no write, and are reported before they run out', async () => {
    await test.ledger.append({ network: 'acme', channel: 'acme.c', note: '', records: [recordOf('a')] });
    await dropFrom(test, 2);
    const analyze = await hold('LOCK TABLE ledger.records IN SHARE UPDATE EXCLUSIVE MODE');
    expect(await makePartitions(test.sql)).toEqual({ ahead: 1, wanted: AHEAD });
    const maker = startMaker(test);
    await until(() => maker.lines.length > 0);
    expect(maker.lines).toEqual([expect.stringContaining('partitions_behind')]);
    expect(await maker.metrics.text()).toMatch(/^ledger_partitions_ahead\{service="test"\} 1$/m);
    await test.ledger.append({ network: 'acme', channel: 'acme.c', note: '', records: [recordOf('b')] });
    await analyze.release();
    await until(() => maker.lines.length > 1);
    expect(maker.lines[1]).toContain('partitions_made');
    expect(await maker.metrics.text()).toMatch(/^ledger_partitions_ahead\{service="test"\} 4$/m);
    await maker.stop();
  });

  it('that are missing refuse a write as unavailable without writing, and accept it once created', async () => {
    await startAt(test, 'acme.full', WIDTH - 1);
    await dropFrom(test, 1);
    const quick = embeddedLedger({ sql: test.sql, origin: ORIGIN, now: Date.now, limits: { answerWithinMs: 300 } });
    const unit = (...ids: string[]) => ({
      network: 'acme',
      channel: 'acme.full',
      note: '',
      records: ids.map(recordOf),
    });
    const claim = { claim: Buffer.alloc(32, 7), fingerprint: 'f', acceptable: ['f'] };
    const over = { ...unit('last', 'beyond'), claim };
    await expect(quick.append(over)).rejects.toMatchObject({ name: 'LedgerUnavailableError' });
    const text = `SELECT (SELECT count(*) FROM ledger.decoded_claims) + (SELECT count(*) FROM ledger.known_ids) AS left`;
    expect(await test.sql.query({ text })).toEqual([{ left: '0' }]);
    // The last row of the existing partition can still be written.
    expect(await quick.append(unit('other'))).toMatchObject({ outcome: 'written', records: [{ index: WIDTH - 1 }] });
    const waiting = test.ledger.append(over);
    await makePartitions(test.sql);
    expect(await waiting).toMatchObject({ outcome: 'written', records: [{ index: WIDTH }, { index: WIDTH + 1 }] });
    await quick.drain();
  }, 120_000);

  it('and their functions run without JIT, like every function callable by a role', async () => {
    const text = `SELECT proname FROM pg_proc WHERE pronamespace = 'ledger'::regnamespace AND prosecdef
                   AND NOT coalesce('jit=off' = ANY (proconfig), false)`;
    expect(await test.sql.query({ text })).toEqual([]);
  });

  it('and the integrator plans once for all of them, not once per log', async () => {
    const text = `SELECT bool_and('plan_cache_mode=force_generic_plan' = ANY (proconfig)) AS once FROM pg_proc
                   WHERE pronamespace = 'ledger'::regnamespace AND proname = 'integrate_begin'`;
    expect(await test.sql.query({ text })).toEqual([{ once: true }]);
  });
});

const binFolder = installedPostgres();
(binFolder === undefined ? describe.skip : describe)('a backup with pg_dump', () => {
  let test: TestLedger;
  const folder = mkdtempSync(join(tmpdir(), 'ledger-dump-'));
  beforeAll(async () => {
    test = await openTestLedger(await throwawayPostgres({ binFolder: binFolder! }));
  }, 120_000);
  const started: ChildProcess[] = [];
  afterAll(async () => {
    // One left by a failed test waits for its reader.
    for (const child of started) child.kill('SIGKILL');
    await test.close();
    rmSync(folder, { recursive: true });
  });
  const program = (name: string, parameters: string[], url: string) => {
    const child = spawn(join(binFolder!, name), [...parameters, '--dbname', url], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    started.push(child);
    return child;
  };

  it('are crossed under load without a write waiting or being refused', async () => {
    await startAt(test, 'acme.full', WIDTH - 400);
    await test.ledger.append({
      network: 'acme',
      channel: 'acme.full',
      note: '',
      records: [recordOf('a'), recordOf('b')],
    });
    await dropFrom(test, 1);
    await test.sql.query({ text: `CREATE TABLE ballast AS SELECT repeat('x', 1000) FROM generate_series(1, 5000)` });

    // Unread, it keeps its transaction open.
    const dump = program('pg_dump', ['--no-owner'], test.url);
    const ended = once(dump, 'exit');
    const locks = `SELECT count(*)::int AS held FROM pg_locks JOIN pg_stat_activity USING (pid)
                    WHERE application_name = 'pg_dump' AND mode = 'AccessShareLock' AND relation = 'ledger.records'::regclass`;
    await until(async () => (await test.sql.query<{ held: number }>({ text: locks }))[0]!.held > 0);
    const maker = startMaker(test);
    await test.integrator.start();
    expect(await writeUntil(test, 'acme.full', WIDTH + 400)).toEqual({ waits: 0, refused: [] });
    expect((await test.sql.query<{ held: number }>({ text: locks }))[0]!.held).toBeGreaterThan(0);
    await until(async () => (await partitions(test)).length === AHEAD + 2);
    await maker.stop();
    const file = join(folder, 'dump.sql');
    await pipeline(dump.stdout, createWriteStream(file));
    expect(await ended).toEqual([0, null]);

    // The channel is complete: as many records as its head says, all signed.
    const name = 'restored';
    await test.sql.query({ text: `CREATE DATABASE ${name}` });
    const url = Object.assign(new URL(test.url), { pathname: `/${name}` }).href;
    const restore = program('psql', ['--quiet', '--set=ON_ERROR_STOP=1', '--output=/dev/null'], url);
    const restored = once(restore, 'exit');
    await pipeline(createReadStream(file), restore.stdin);
    expect(await restored).toEqual([0, null]);
    const options = { applicationName: 'test', maxConnections: 1, connectTimeoutMs: 2000, deadlineMs: 60_000 };
    const copy = openDatabase({ ...options, url });
    const text = `SELECT size::int, (SELECT count(*)::int FROM ledger.records) AS records FROM ledger.channels`;
    expect(await copy.query({ text })).toEqual([{ size: WIDTH - 398, records: 2 }]);
    await copy.close();
  }, 180_000);
});
