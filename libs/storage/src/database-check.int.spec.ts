import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { throwawayPostgres, type ThrowawayPostgres } from '@sealgate/testing';
import { databaseCheck, migrate, openDatabase, type Database, type DatabaseCheck, type MigrationSet } from './index.ts';

const LEDGER = `CREATE TABLE entries (id int);
CREATE FUNCTION put() RETURNS int LANGUAGE sql AS 'SELECT 1';
CREATE FUNCTION append() RETURNS int LANGUAGE sql SECURITY DEFINER AS 'SELECT put()';
`;
const ROLE = 'check_test_run';

let server: ThrowawayPostgres;
let folder: string;
let url: string;
const opened: Database[] = [];
const checks: DatabaseCheck[] = [];

const open = (address: string): Database => {
  const options = { applicationName: 'check-test', maxConnections: 2, connectTimeoutMs: 500, deadlineMs: 5_000 };
  const database = openDatabase({ ...options, url: address });
  opened.push(database);
  return database;
};
const asRole = (password = ROLE): string => Object.assign(new URL(url), { username: ROLE, password }).href;

const setOf = (schema: string, files: Record<string, string>): MigrationSet => {
  const directory = join(folder, schema);
  mkdirSync(directory, { recursive: true });
  for (const [file, content] of Object.entries(files))
    writeFileSync(join(directory, file), `-- Up Migration\n${content}`);
  return { name: 'main', schema, directory };
};
const sets = (): MigrationSet[] => [
  setOf('ledger', { '0001_ledger.sql': LEDGER }),
  setOf('desk', { '0001_notes.sql': 'CREATE TABLE notes (id int);' }),
];
const job = (of: readonly MigrationSet[]) => migrate({ url, sets: of, runtimeRoles: { ledger: ROLE, desk: ROLE } });

/** A check with timers run by the test, and everything it reported. */
function checkOf(sql: Database, needed: readonly MigrationSet[], further?: () => Promise<string | undefined>) {
  const reported: (string | undefined)[] = [];
  const due: (() => void)[] = [];
  const check = databaseCheck({
    sql,
    sets: needed,
    ...(further === undefined ? {} : { further }),
    onChange: (problem) => reported.push(problem),
    schedule: (work) => void due.push(work),
  });
  checks.push(check);
  /** Runs what is due, and waits until something is due again or `done` is. */
  const pass = async (done: () => boolean): Promise<void> => {
    for (const work of due.splice(0)) work();
    while (due.length === 0 && !done()) await new Promise((resolve) => setImmediate(resolve));
  };
  return { check, reported, pass };
}

beforeAll(async () => {
  server = await throwawayPostgres();
  const admin = open(server.url);
  await admin.query({ text: `DROP ROLE IF EXISTS ${ROLE}` });
  await admin.query({ text: `CREATE ROLE ${ROLE} LOGIN PASSWORD '${ROLE}'` });
}, 120_000);
afterAll(() => server.stop());
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'check-'));
  url = await server.newDatabase();
});
afterEach(async () => {
  for (const check of checks.splice(0)) check.close();
  await Promise.all(opened.splice(0).map((database) => database.close()));
  rmSync(folder, { recursive: true });
});

describe('databaseCheck', () => {
  it('finds no problem after the job of this version has run, without reading a table of the ledger', async () => {
    await job(sets());
    const { check, reported } = checkOf(open(asRole()), sets());
    expect(await check.problem()).toBeUndefined();
    expect(await check.problem()).toBeUndefined();
    expect(reported).toEqual([undefined]);
  });

  it('names a missing set and one that is behind, and accepts one that is ahead', async () => {
    const needed = sets();
    const { check, reported } = checkOf(open(asRole()), needed);
    expect(await check.problem()).toBe(
      'the database is not migrated for this version: ledger/main is missing, 0001_ledger is needed: run the migration job of this version (migrate.js)',
    );
    await job(needed);
    expect(await check.problem()).toBeUndefined();
    expect(reported).toEqual([expect.stringContaining('ledger/main is missing'), undefined]);

    const next = setOf('desk', { '0002_more.sql': 'CREATE TABLE more ();' });
    const newer = checkOf(open(asRole()), [needed[0]!, next]).check;
    expect(await newer.problem()).toContain('desk/main is at 0001_notes, 0002_more is needed');
    await job([needed[0]!, next]);
    expect(await newer.problem()).toBeUndefined();
    expect(await check.problem()).toBeUndefined();
  });

  it('lets the next job repair what a job that died before its last step left out', async () => {
    const needed = sets();
    await job(needed);
    await open(url).query({ text: 'COMMENT ON TABLE desk.migrations_main IS NULL' });
    const { check } = checkOf(open(asRole()), needed);
    expect(await check.problem()).toContain('desk/main is missing');
    expect(await job(needed)).toEqual([]);
    expect(await check.problem()).toBeUndefined();
  });

  it.each([
    ['the schema', 'REVOKE USAGE ON SCHEMA desk FROM', 'desk'],
    ['a table', 'REVOKE INSERT ON desk.notes FROM', 'desk'],
    ['a function of the ledger', 'REVOKE EXECUTE ON FUNCTION ledger.append() FROM', 'ledger'],
  ])('names the schema if the role has no right to %s', async (_, revoke, schema) => {
    await job(sets());
    await open(url).query({ text: `${revoke} ${ROLE}` });
    const { check } = checkOf(open(asRole()), sets());
    expect(await check.problem()).toBe(
      `the role of DATABASE_URL has no rights in the schema ${schema}: run the migration job with the DATABASE_URL of this service`,
    );
  });

  it('says that the database is not migrated if a function that this version calls is missing', async () => {
    await job(sets());
    await open(url).query({ text: 'DROP FUNCTION ledger.put()' });
    const { check } = checkOf(open(asRole()), sets());
    expect(await check.problem()).toBeUndefined();
    await open(url).query({ text: 'DROP FUNCTION ledger.append()' });
    expect(await check.problem()).toBe(
      'the database is not migrated for this version: the function ledger.append is missing: run the migration job of this version (migrate.js)',
    );
  });

  it('says that a release candidate made the database, whatever else is missing in it', async () => {
    await job(sets());
    const [ledger, desk] = sets();
    const now = { ...ledger!, releaseCandidate: { file: '0002_append', routine: 'append_v1' } };
    const { check } = checkOf(open(asRole()), [now, desk!]);
    expect(await check.problem()).toBeUndefined();
    await open(url).query({ text: 'ALTER FUNCTION ledger.append() RENAME TO append_v1' });
    expect(await check.problem()).toBe(
      'the database was made by a release candidate, and nothing upgrades it: export what must stay with that version, and start with an empty database',
    );
  });

  it('does not require functions that another version of another surface needs', async () => {
    const needed = sets();
    await job(needed);
    const newer = setOf('ledger', {
      '0002_more.sql': 'CREATE FUNCTION more() RETURNS int LANGUAGE sql SECURITY DEFINER AS $$SELECT 1$$;',
    });
    const { check } = checkOf(open(asRole()), [
      { ...newer, directory: needed[1]!.directory, name: 'x', schema: 'desk' },
    ]);
    await migrate({ url, sets: [newer] });
    expect(await check.problem()).toContain('desk/x is missing');
    const only = setOf('desk', {});
    rmSync(join(newer.directory, '0002_more.sql'));
    expect(await checkOf(open(asRole()), [newer, only]).check.problem()).toBeUndefined();
  });

  it('distinguishes a wrong password, a missing database and an unreachable server, and is away in each', async () => {
    const problemAt = async (address: string) => {
      const { check } = checkOf(open(address), sets());
      const problem = await check.problem();
      expect(check.isAway).toBe(true);
      return problem;
    };
    expect(await problemAt(asRole('wrong'))).toBe('the database refuses the password, or the role, of DATABASE_URL');
    expect(await problemAt(Object.assign(new URL(url), { pathname: '/nowhere' }).href)).toBe(
      'the database that DATABASE_URL names does not exist',
    );
    expect(await problemAt(Object.assign(new URL(url), { port: '1' }).href)).toBe('the database does not answer');
  });

  it('reports a read-only database', async () => {
    await job(sets());
    await open(url).query({ text: `ALTER ROLE ${ROLE} SET default_transaction_read_only = on` });
    try {
      const { check } = checkOf(open(asRole()), sets());
      expect(await check.problem()).toMatch(/^the database takes no writes/);
      expect(check.isAway).toBe(true);
    } finally {
      await open(url).query({ text: `ALTER ROLE ${ROLE} RESET default_transaction_read_only` });
    }
  });

  it('runs the further check if all others pass', async () => {
    const { check } = checkOf(open(asRole()), sets(), () => Promise.resolve('no right to the channel'));
    expect(await check.problem()).toContain('is missing');
    await job(sets());
    expect(await check.problem()).toBe('no right to the channel');
    // What the migration job repairs: the database itself is there.
    expect(check.isAway).toBe(false);
  });
});

describe('whenReady', () => {
  it('runs the work at once if the database has no problem, and rethrows its error', async () => {
    await job(sets());
    const { check } = checkOf(open(asRole()), sets());
    let done = 0;
    await check.whenReady(async () => void (done += 1));
    expect(done).toBe(1);
    await expect(check.whenReady(() => Promise.reject(new Error('not mine')))).rejects.toThrow('not mine');
  });

  it('waits for the migration job and retries the work until it succeeds', async () => {
    const { check, reported, pass } = checkOf(open(asRole()), sets());
    let tries = 0;
    await check.whenReady(async () => {
      tries += 1;
      if (tries === 1) throw new Error('may not integrate');
    });
    await pass(() => false);
    expect(tries).toBe(0);
    await job(sets());
    await pass(() => false);
    expect(tries).toBe(1);
    expect(await check.problem()).toBe('may not integrate');
    await pass(() => tries === 2);
    await check.problem();
    expect(await check.problem()).toBeUndefined();
    expect(reported).toEqual([expect.stringContaining('not migrated'), 'may not integrate', undefined]);
  });

  it('drops the work when the check is closed', async () => {
    const { check, pass } = checkOf(open(asRole()), sets());
    await check.whenReady(() => Promise.reject(new Error('never')));
    check.close();
    await pass(() => true);
    await job(sets());
    await pass(() => true);
  });
});
