import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { databaseCheck, migrate, openDatabase, type Database, type MigrationSet } from '@sealgate/storage';
import { throwawayPostgres, until, type ThrowawayPostgres } from '@sealgate/testing';
import { embeddedLedger } from './embedded-ledger.ts';
import { ledgerGrants, ledgerMigrations } from './ledger-grants.ts';

const CHANNEL = 'acme.main';
/** Roles belong to the whole server, which other tests use. */
const ROLE = 'ledger_app';

let server: ThrowawayPostgres;
let url: string;
let folder: string;
const opened: Database[] = [];

beforeAll(async () => {
  server = await throwawayPostgres();
  folder = mkdtempSync(join(tmpdir(), 'ledger-next-'));
  await connect(server.url, 'admin').query({ text: `CREATE ROLE ${ROLE} LOGIN PASSWORD '${ROLE}'` });
}, 120_000);
afterAll(async () => {
  await Promise.all(opened.map((database) => database.close()));
  await server.stop();
  rmSync(folder, { recursive: true });
});
beforeEach(async () => {
  url = await server.newDatabase();
});

function connect(address: string, applicationName: string): Database {
  const options = { applicationName, maxConnections: 3, connectTimeoutMs: 10_000, deadlineMs: 30_000 };
  const database = openDatabase({ ...options, url: address });
  opened.push(database);
  return database;
}

const asRole = (name: string): Database =>
  connect(Object.assign(new URL(url), { username: ROLE, password: ROLE }).href, name);

const job = (set: MigrationSet) => {
  const order = {
    surface: 'peer',
    role: ROLE,
    channels: { kind: 'owned', names: [CHANNEL] },
    integrates: false,
  } as const;
  return migrate({ url, sets: [set], runtimeRoles: { ledger: ROLE }, statements: ledgerGrants(order) });
};

const problemAt = async (sql: Database, set: MigrationSet): Promise<string | undefined> => {
  const check = databaseCheck({ sql, sets: [set], onChange: () => undefined });
  const problem = await check.problem();
  check.close();
  return problem;
};

/** The next version: it notes in a column of its own who wrote a record, also for processes that do not know it. */
function nextVersion(): MigrationSet {
  cpSync(ledgerMigrations.directory, folder, { recursive: true });
  const now = readFileSync(join(folder, '0001_ledger.sql'), 'utf8');
  const [appendNew = ''] = /^CREATE FUNCTION append_new\([^]*?^END \$\$;$/m.exec(now) ?? [];
  const replaced = appendNew
    .replace('CREATE FUNCTION', 'CREATE OR REPLACE FUNCTION')
    .replace('leaf_hash, transaction_id, at_ms)', 'leaf_hash, transaction_id, at_ms, writer)')
    .replace('unit_at[r.unit]\n', `unit_at[r.unit], current_setting('application_name')\n`);
  writeFileSync(
    join(folder, '0002_writer.sql'),
    `-- Up Migration
ALTER TABLE records ADD COLUMN writer text;
${replaced}
CREATE FUNCTION writers(of_channel text) RETURNS TABLE (idx bigint, writer text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT r.idx, r.writer FROM records r JOIN channels c USING (channel_id)
   WHERE c.channel = of_channel AND permitted(of_channel, 'read') ORDER BY r.idx
$$;
`,
  );
  return { ...ledgerMigrations, directory: folder };
}

it('a migration adds a column and replaces a function under load: old and new processes append, nothing is refused', async () => {
  await job(ledgerMigrations);
  const sql = { old: asRole('old'), new: asRole('new') };
  const unit = (id: string) => ({
    network: 'acme',
    channel: CHANNEL,
    note: '',
    records: [{ id, type: 'asset', owner: null, data: '{}', extra: null }],
  });
  const outcomes: string[] = [];
  let isOver = false;
  /** Appends until the end, four at once. */
  const keepAppending = (name: 'old' | 'new') => {
    const ledger = embeddedLedger({ sql: sql[name], origin: 'x', now: Date.now });
    let sent = 0;
    const sender = async () => {
      while (!isOver) outcomes.push((await ledger.append(unit(`${name}-${(sent += 1)}`))).outcome);
    };
    return { senders: Promise.all([1, 2, 3, 4].map(sender)), sent: () => sent };
  };
  const old = keepAppending('old');
  await until(() => old.sent() > 50);
  const next = nextVersion();
  expect(await problemAt(sql.new, next)).toContain('ledger/ledger is at 0001_ledger, 0002_writer is needed');
  expect(await job(next)).toEqual(['ledger/ledger/0002_writer']);
  // The new version works, and so does the old one on the newer schema.
  expect(await problemAt(sql.new, next)).toBeUndefined();
  expect(await problemAt(sql.old, ledgerMigrations)).toBeUndefined();
  const [oldAtJob, young] = [old.sent(), keepAppending('new')];
  await until(() => young.sent() > 50 && old.sent() > oldAtJob + 50);
  isOver = true;
  await Promise.all([old.senders, young.senders]);

  expect(new Set(outcomes)).toEqual(new Set(['written']));
  const rows = await sql.new.query<{ idx: string; writer: string | null }>({
    text: 'SELECT idx, writer FROM ledger.writers($1)',
    values: [CHANNEL],
  });
  expect(rows.map(({ idx }) => Number(idx))).toEqual(outcomes.map((_, index) => index));
  expect(new Set(rows.map(({ writer }) => writer))).toEqual(new Set([null, 'old', 'new']));
  const owner = embeddedLedger({ sql: connect(url, 'audit'), origin: 'x', now: Date.now });
  expect(await owner.audit(CHANNEL)).toMatchObject({ ok: true, size: outcomes.length });
  // The job of the old version changes nothing.
  expect(await job(ledgerMigrations)).toEqual([]);
}, 120_000);

it('a database of a release candidate is refused by the job, and reported by services', async () => {
  const sql = connect(url, 'candidate');
  await job(ledgerMigrations);
  await sql.query({ text: `INSERT INTO ledger.migrations_ledger (name, run_on) VALUES ('0002_append', now())` });
  await sql.query({ text: 'ALTER FUNCTION ledger.append_many RENAME TO append_v1' });
  const said =
    'he database was made by a release candidate, and nothing upgrades it: export what must stay with that version, ' +
    'and start with an empty database';
  await expect(job(ledgerMigrations)).rejects.toMatchObject({ name: 'MigrationError', message: `T${said}.` });
  expect(await problemAt(asRole('service'), ledgerMigrations)).toBe(`t${said}`);
});
