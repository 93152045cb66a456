import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { throwawayPostgres, until, type ThrowawayPostgres } from '@sealgate/testing';
import { migrate, openDatabase, type Database, type MigrationSet } from './index.ts';

const NOTES = `-- Up Migration
CREATE TABLE notes (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, text text NOT NULL);
CREATE SEQUENCE note_numbers;
CREATE FUNCTION note_count() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM notes';
-- Down Migration
DROP FUNCTION note_count();
DROP SEQUENCE note_numbers;
DROP TABLE notes;
`;
const LOG = `-- Up Migration
CREATE TABLE entries (id int PRIMARY KEY);
CREATE FUNCTION put(id int) RETURNS void LANGUAGE sql AS 'INSERT INTO entries VALUES (id)';
CREATE FUNCTION append(id int) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = ledger, pg_temp
  AS 'SELECT put(id)';
CREATE FUNCTION append(id int, "of Note" text, OUT n bigint) LANGUAGE sql SECURITY DEFINER
  SET search_path = ledger, pg_temp AS 'SELECT count(*) FROM entries';
CREATE FUNCTION twelve() RETURNS int LANGUAGE sql SECURITY DEFINER AS 'SELECT 12';
`;
const DENIED = { code: '42501' };

let server: ThrowawayPostgres;
let folder: string;
let url: string;
const opened: Database[] = [];

const open = (address: string): Database => {
  const options = { applicationName: 'migrate-test', maxConnections: 2, connectTimeoutMs: 5_000, deadlineMs: 20_000 };
  const database = openDatabase({ ...options, url: address });
  opened.push(database);
  return database;
};
const as = (role: string): Database => open(Object.assign(new URL(url), { username: role, password: role }).href);
const run = (database: Database, text: string): Promise<object[]> => database.query({ text });

/** A set of the given files, name to content. */
const setOf = (schema: string, files: Record<string, string>, name = 'main'): MigrationSet => {
  const directory = join(folder, schema, name);
  mkdirSync(directory, { recursive: true });
  for (const [file, content] of Object.entries(files)) writeFileSync(join(directory, file), content);
  return { name, schema, directory };
};

beforeAll(async () => {
  server = await throwawayPostgres();
  const admin = open(server.url);
  for (const role of ['migrate_test_owner', 'migrate_test_run', 'migrate_test_other']) {
    await run(admin, `DROP ROLE IF EXISTS ${role}`);
    await run(admin, `CREATE ROLE ${role} LOGIN PASSWORD '${role}'`);
  }
}, 120_000);
afterAll(() => server.stop());

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'migrate-'));
  const fresh = new URL(await server.newDatabase());
  const database = fresh.pathname.slice(1);
  await run(open(fresh.href), `GRANT CREATE ON DATABASE ${database} TO migrate_test_owner`);
  url = Object.assign(fresh, { username: 'migrate_test_owner', password: 'migrate_test_owner' }).href;
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((database) => database.close()));
  rmSync(folder, { recursive: true });
});

describe('migrate', () => {
  it('applies pending files in order, once', async () => {
    const lines: string[] = [];
    const log = (line: string): void => void lines.push(line);
    const files = { '0001_notes.sql': NOTES, '0002_more.sql': 'ALTER TABLE notes ADD COLUMN at timestamptz;' };
    const sets = [setOf('desk', files), setOf('desk', { '0001_other.sql': 'CREATE TABLE other ();' }, 'other-set')];
    expect(await migrate({ url, sets, log })).toEqual(['desk/main/0001_notes', 'desk/main/0002_more', 'desk/other-set/0001_other']); // prettier-ignore
    expect(lines[0]).toBe('Migrated desk/main/0001_notes.');
    expect(await migrate({ url, sets })).toEqual([]);
    setOf('desk', { '0003_last.sql': 'ALTER TABLE notes DROP COLUMN at;' });
    expect(await migrate({ url, sets })).toEqual(['desk/main/0003_last']);
    const tables = await run(open(url), `SELECT tablename FROM pg_tables WHERE schemaname = 'desk' ORDER BY 1`);
    expect(tables.map((row) => Object.values(row)[0])).toEqual(['migrations_main', 'migrations_other-set', 'notes', 'other']); // prettier-ignore
  });

  it('leaves a set unchanged when one of its files fails, and names the file and the reason', async () => {
    const files = { '0001_notes.sql': NOTES, '0002_bad.sql': 'CREATE TABLE notes ();' };
    await expect(migrate({ url, sets: [setOf('desk', files)] })).rejects.toThrow(/desk\/main failed[^]*already exists/);
    expect(await run(open(url), `SELECT to_regclass('desk.notes') AS found`)).toEqual([{ found: null }]);
    setOf('desk', { '0002_bad.sql': 'CREATE TABLE more ();' });
    expect(await migrate({ url, sets: [setOf('desk', {})] })).toEqual(['desk/main/0001_notes', 'desk/main/0002_bad']);
  });

  it('begins a set again where a service locks its tables in another order', async () => {
    const files = { '0001_notes.sql': NOTES, '0002_more.sql': 'CREATE TABLE more (id int);' };
    const desk = setOf('desk', files);
    await migrate({ url, sets: [desk] });
    setOf('desk', { '0003_wider.sql': 'ALTER TABLE notes ADD COLUMN a int; ALTER TABLE more ADD COLUMN b int;' });
    // The migration finds the deadlock: it looks after three seconds, the service a minute after it has begun to wait.
    const database = new URL(url).pathname.slice(1);
    await run(open(server.url), `ALTER DATABASE ${database} SET deadlock_timeout = '3s'`);
    const service = open(Object.assign(new URL(server.url), { pathname: `/${database}` }).href);
    const lines: string[] = [];
    let migrated: Promise<readonly string[]> | undefined;
    await service.transaction(async (sql) => {
      await sql.query({ text: `SET LOCAL deadlock_timeout = '60s'` });
      await sql.query({ text: 'LOCK TABLE desk.more' });
      migrated = migrate({ url, sets: [desk], log: (line) => void lines.push(line) });
      const isWaiting = `SELECT FROM pg_locks WHERE NOT granted AND relation = 'desk.more'::regclass`;
      await until(async () => (await run(service, isWaiting)).length > 0);
      await sql.query({ text: 'LOCK TABLE desk.notes' });
    });
    expect(await migrated).toEqual(['desk/main/0003_wider']);
    expect(lines).toContain('The migrations of desk/main met a deadlock, and are begun again.');
  });

  it('refuses a database of a release candidate in one sentence, and changes nothing', async () => {
    const candidate = setOf('ledger', { '0001_log.sql': LOG, '0002_append.sql': 'CREATE TABLE more ();' });
    await migrate({ url, sets: [candidate] });
    rmSync(join(candidate.directory, '0002_append.sql'));
    const sets = [
      setOf('desk', { '0001_notes.sql': NOTES }),
      { ...candidate, releaseCandidate: { file: '0002_append', routine: 'append_v1' } },
    ];
    const said = await migrate({ url, sets }).catch((error: Error) => error);
    expect(said).toMatchObject({
      name: 'MigrationError',
      message:
        'The database was made by a release candidate, and nothing upgrades it: export what must stay with that ' +
        'version, and start with an empty database.',
    });
    expect(await run(open(url), `SELECT to_regnamespace('desk') AS found`)).toEqual([{ found: null }]);
  });

  it('refuses a file inserted before an applied one', async () => {
    await migrate({ url, sets: [setOf('desk', { '0002_notes.sql': NOTES })] });
    const sets = [setOf('desk', { '0001_early.sql': 'CREATE TABLE early ();' })];
    await expect(migrate({ url, sets })).rejects.toThrow('0001_early');
  });

  it('refuses a file that is not numbered SQL before changing anything', async () => {
    const sets = [setOf('desk', { '0001_notes.sql': NOTES, '0002_code.js': 'process.exit(1)' })];
    await expect(migrate({ url, sets })).rejects.toThrow('0002_code.js');
    expect(await run(open(url), `SELECT to_regnamespace('desk') AS found`)).toEqual([{ found: null }]);
  });

  it('serialises concurrent runs', async () => {
    const sets = [setOf('desk', { '0001_notes.sql': NOTES, '0002_slow.sql': 'SELECT pg_sleep(0.1);' })];
    const runtimeRoles = { desk: 'migrate_test_run' };
    const runs = await Promise.all([1, 2, 3, 4].map(() => migrate({ url, sets, runtimeRoles })));
    expect(runs.map((names) => names.length).sort()).toEqual([0, 0, 0, 2]);
  });
});

describe('a schema that several jobs share', () => {
  const SECOND = {
    '0001_log.sql': LOG,
    '0002_more.sql': `CREATE TABLE more (id int);
      CREATE FUNCTION more() RETURNS int LANGUAGE sql AS 'SELECT 1';`,
  };
  const THIRD = {
    ...SECOND,
    '0003_last.sql': `ALTER TABLE more ADD COLUMN at int;
      CREATE OR REPLACE FUNCTION more() RETURNS int LANGUAGE sql AS 'SELECT 2';`,
  };
  const ledger = (files: Record<string, string>): MigrationSet => setOf('ledger', files);
  const owners = (): Promise<object[]> =>
    run(
      open(url),
      `SELECT DISTINCT owner::regrole::text FROM (
         SELECT relowner FROM pg_class WHERE relnamespace = 'ledger'::regnamespace
         UNION ALL SELECT proowner FROM pg_proc WHERE pronamespace = 'ledger'::regnamespace) every (owner)`,
    );
  const second = (): string =>
    Object.assign(new URL(url), { username: 'migrate_test_other', password: 'migrate_test_other' }).href;

  afterEach(async () => {
    await run(open(server.url), 'REVOKE migrate_test_owner FROM migrate_test_other');
  });

  it('keeps one owner whichever job adds to it, in any order', async () => {
    const admin = open(Object.assign(new URL(url), { username: new URL(server.url).username, password: new URL(server.url).password }).href); // prettier-ignore
    await run(admin, `GRANT CREATE ON DATABASE ${new URL(url).pathname.slice(1)} TO migrate_test_other`);
    await migrate({ url, sets: [ledger({ '0001_log.sql': LOG })] });
    await run(open(server.url), 'GRANT migrate_test_owner TO migrate_test_other');
    const runtimeRoles = { ledger: 'migrate_test_run', other: 'migrate_test_run' };
    const own = setOf('other', { '0001_notes.sql': NOTES });
    const statements = [{ text: 'INSERT INTO ledger.entries VALUES (7)' }];
    expect(await migrate({ url: second(), sets: [ledger(SECOND), own], runtimeRoles, statements })).toHaveLength(2);
    expect(await migrate({ url, sets: [ledger(THIRD)], runtimeRoles })).toEqual(['ledger/main/0003_last']);
    expect(await owners()).toEqual([{ owner: 'migrate_test_owner' }]);
    await run(as('migrate_test_run'), 'SELECT ledger.append(1)');
    // Its own schema keeps its own owner.
    expect(
      await run(admin, `SELECT tableowner FROM pg_tables WHERE schemaname = 'other' AND tablename = 'notes'`),
    ).toEqual([{ tableowner: 'migrate_test_other' }]);
  });

  it('refuses a role that may not act for the owner, names the GRANT and changes nothing', async () => {
    await migrate({ url, sets: [ledger({ '0001_log.sql': LOG })] });
    await expect(migrate({ url: second(), sets: [ledger(SECOND)] })).rejects.toThrow(
      'The schema "ledger" belongs to the role "migrate_test_owner", for which "migrate_test_other" may not act: run ' +
        'GRANT "migrate_test_owner" TO "migrate_test_other", or the job under that role.',
    );
    expect(await run(open(url), 'SELECT name FROM ledger.migrations_main')).toEqual([{ name: '0001_log' }]);
  });

  it('keeps one owner when a superuser adds to it, and still migrates a schema of mixed ownership', async () => {
    const { username, password } = new URL(server.url);
    const superuser = Object.assign(new URL(url), { username, password }).href;
    await migrate({ url, sets: [ledger({ '0001_log.sql': LOG })] });
    await migrate({ url: superuser, sets: [ledger(SECOND)] });
    expect(await owners()).toEqual([{ owner: 'migrate_test_owner' }]);
    await run(open(superuser), `ALTER TABLE ledger.more OWNER TO ${username}`);
    expect(await migrate({ url: superuser, sets: [ledger(THIRD)] })).toEqual(['ledger/main/0003_last']);
  });
});

describe('the run-time role', () => {
  const runtimeRoles = { desk: 'migrate_test_run', ledger: 'migrate_test_run' };
  const sets = (): MigrationSet[] => [
    setOf('ledger', { '0001_log.sql': LOG }),
    setOf('desk', { '0001_notes.sql': NOTES }),
  ];

  it('reads and writes rows, sequences and functions of an ordinary schema', async () => {
    await migrate({ url, sets: sets(), runtimeRoles });
    const database = as('migrate_test_run');
    await run(database, `INSERT INTO desk.notes (text) VALUES ('a'), ('b')`);
    await run(database, `UPDATE desk.notes SET text = 'c' WHERE text = 'b'`);
    await run(database, `DELETE FROM desk.notes WHERE text = 'a'`);
    expect(await run(database, `SELECT text, nextval('desk.note_numbers') AS n FROM desk.notes`)).toEqual([
      { text: 'c', n: '1' },
    ]);
  });

  it('has no DDL anywhere', async () => {
    await migrate({ url, sets: sets(), runtimeRoles });
    const database = as('migrate_test_run');
    for (const statement of [
      'CREATE TABLE desk.mine ()',
      'CREATE TABLE ledger.mine ()',
      'CREATE TABLE public.mine ()',
      'CREATE SCHEMA mine',
      'ALTER TABLE desk.notes ADD COLUMN mine int',
      'DROP TABLE desk.notes',
      'TRUNCATE desk.notes',
      `CREATE FUNCTION desk.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'`,
      `INSERT INTO desk.migrations_main (name, run_on) VALUES ('0009_mine', now())`,
    ]) {
      await expect(run(database, statement)).rejects.toMatchObject(DENIED);
    }
    expect(await run(database, 'SELECT name FROM desk.migrations_main')).toEqual([{ name: '0001_notes' }]);
  });

  it('reaches the ledger only through its SECURITY DEFINER functions', async () => {
    await migrate({ url, sets: sets(), runtimeRoles });
    const database = as('migrate_test_run');
    await run(database, 'SELECT ledger.append(1)');
    expect(await run(database, `SELECT ledger.append(1, 'x') AS n, ledger.twelve() AS m`)).toEqual([{ n: '1', m: 12 }]);
    for (const statement of [
      'SELECT ledger.put(2)',
      'SELECT * FROM ledger.entries',
      'INSERT INTO ledger.entries VALUES (2)',
      'UPDATE ledger.entries SET id = 3',
      'DELETE FROM ledger.entries',
      'SELECT * FROM ledger.migrations_main',
    ]) {
      await expect(run(database, statement)).rejects.toMatchObject(DENIED);
    }
    expect(await run(open(url), 'SELECT id FROM ledger.entries')).toEqual([{ id: 1 }]);
  });

  it('loses rights granted by hand', async () => {
    await migrate({ url, sets: sets(), runtimeRoles });
    await run(open(url), 'GRANT ALL ON SCHEMA ledger TO migrate_test_run');
    await run(open(url), 'GRANT SELECT ON ledger.entries TO migrate_test_run');
    await run(open(url), 'GRANT EXECUTE ON FUNCTION ledger.put(int) TO migrate_test_run');
    await migrate({ url, sets: sets(), runtimeRoles });
    await expect(run(as('migrate_test_run'), 'SELECT ledger.put(2)')).rejects.toMatchObject(DENIED);
    await expect(run(as('migrate_test_run'), 'SELECT * FROM ledger.entries')).rejects.toMatchObject(DENIED);
    await expect(run(as('migrate_test_run'), 'CREATE TABLE ledger.mine ()')).rejects.toMatchObject(DENIED);
  });

  it('is the only one with access', async () => {
    await migrate({ url, sets: sets(), runtimeRoles });
    const other = as('migrate_test_other');
    await expect(run(other, 'SELECT * FROM desk.notes')).rejects.toMatchObject(DENIED);
    await expect(run(other, 'SELECT desk.note_count()')).rejects.toMatchObject(DENIED);
    await expect(run(other, 'SELECT ledger.append(2)')).rejects.toMatchObject(DENIED);
  });

  it('may be one of several of the same schema', async () => {
    const both = { ...runtimeRoles, ledger: ['migrate_test_run', 'migrate_test_other'] };
    await migrate({ url, sets: sets(), runtimeRoles: both });
    await run(as('migrate_test_other'), 'SELECT ledger.append(5)');
    await run(as('migrate_test_run'), 'SELECT ledger.append(6)');
  });

  it('needs CONNECT, and the GRANT named by the error gives it', async () => {
    const admin = open(server.url);
    const name = new URL(url).pathname.slice(1);
    const runtimeRoles = { desk: 'migrate_test_other' };
    await run(admin, `REVOKE CONNECT ON DATABASE ${name} FROM PUBLIC`);
    await run(admin, `GRANT CONNECT ON DATABASE ${name} TO migrate_test_owner`);
    const said = await migrate({ url, sets: sets(), runtimeRoles }).catch(({ message }: Error) => message);
    expect(said).toBe(
      `The run-time role "migrate_test_other" may not connect to the database "${name}": ` +
        `run GRANT CONNECT ON DATABASE "${name}" TO "migrate_test_other".`,
    );
    await run(admin, /GRANT [^.]+/.exec(String(said))![0]);
    await migrate({ url, sets: sets(), runtimeRoles });
    expect(await run(as('migrate_test_other'), 'SELECT count(*)::int AS n FROM desk.notes')).toEqual([{ n: 0 }]);
  });

  it('must exist, and must not own the schema', async () => {
    await expect(migrate({ url, sets: sets(), runtimeRoles: { desk: 'nobody_here' } })).rejects.toThrow('nobody_here');
    const owner = { desk: 'migrate_test_owner' };
    await expect(migrate({ url, sets: sets(), runtimeRoles: owner })).rejects.toThrow('owns the schema');
  });
});
