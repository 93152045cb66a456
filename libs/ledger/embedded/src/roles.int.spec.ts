import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { migrate, openDatabase, type Database, type MigrateOptions } from '@sealgate/storage';
import { throwawayPostgres, type ThrowawayPostgres } from '@sealgate/testing';
import { embeddedLedger } from './embedded-ledger.ts';
import { ledgerGrants, ledgerMigrations, type GrantsOrder } from './ledger-grants.ts';
import { CALLS, CHANNELS, EXPECTED, ROLES } from './testing/rights-table.ts';

const DENIED = '42501';

let server: ThrowawayPostgres;
const opened: Database[] = [];

const connect = (url: string): Database => {
  const options = { applicationName: 'roles', maxConnections: 2, connectTimeoutMs: 10_000, deadlineMs: 30_000 };
  const database = openDatabase({ ...options, url });
  opened.push(database);
  return database;
};
const urlAs = (url: string, role: string): string =>
  Object.assign(new URL(url), { username: role, password: role }).href;

/** A database whose owner is not a superuser, as with hosted PostgreSQL. */
async function emptyDatabase(): Promise<string> {
  const url = await server.newDatabase();
  await connect(url).query({ text: `GRANT CREATE ON DATABASE ${new URL(url).pathname.slice(1)} TO owner` });
  return urlAs(url, 'owner');
}

const told = (order: Partial<GrantsOrder> & Pick<GrantsOrder, 'surface' | 'role'>) =>
  ledgerGrants({ adminRole: undefined, channels: undefined, integrates: false, ...order });
const owned = (name: string): GrantsOrder['channels'] => ({ kind: 'owned', names: [name] });
const A = told({ surface: 'risk', role: 'risk', channels: owned('demo.evidence') });
const B = told({ surface: 'gate', role: 'gate', channels: owned('demo.cases') });
const C = told({
  surface: 'peer',
  role: 'peer',
  adminRole: 'operator',
  channels: { kind: 'shared', names: ['demo.main'] },
  integrates: true,
});
const D = told({
  surface: 'ingest',
  role: 'ingest',
  adminRole: 'operator',
  channels: { kind: 'unowned', reads: false },
});

const job = (url: string, role: string, statements: NonNullable<MigrateOptions['statements']>) =>
  migrate({ url, sets: [ledgerMigrations], runtimeRoles: { ledger: role }, statements });

/** The result of a call, which is rolled back. */
async function outcomeOf(database: Database, text: string, values: readonly unknown[] = []): Promise<string> {
  try {
    await database.transaction(async (sql) => {
      await sql.query({ text, values });
      throw new Error('undo');
    });
    return 'committed';
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    if (message === 'undo') return 'answered';
    return code === DENIED ? 'refused' : `${code}: ${message}`;
  }
}

beforeAll(async () => {
  // Roles are of a whole server, and others of these names may be on the shared one.
  server = await throwawayPostgres({ own: true });
  const admin = connect(server.url);
  for (const role of ['owner', ...ROLES, 'app', 'member'])
    await admin.query({ text: `CREATE ROLE ${role} LOGIN PASSWORD '${role}'` });
  await admin.query({ text: 'GRANT risk TO member' });
}, 120_000);
afterAll(async () => {
  await Promise.all(opened.map((database) => database.close()));
  await server.stop();
});

describe('the role of each surface', () => {
  let url: string;
  const as = new Map<string, Database>();
  const of = (role: string): Database => {
    if (!as.has(role)) as.set(role, connect(urlAs(url, role)));
    return as.get(role)!;
  };

  beforeAll(async () => {
    url = await emptyDatabase();
    for (const [role, statements] of [
      ['risk', A],
      ['gate', B],
      ['peer', C],
      ['ingest', D],
    ] as const)
      await job(url, role, statements);
    await migrate({ url, sets: [ledgerMigrations], runtimeRoles: { ledger: ['operator', 'stranger'] } });
    const ledger = embeddedLedger({ sql: connect(url), origin: 'x', now: Date.now });
    const secret = { id: 'secret', type: 't', owner: 'o', data: '{"pin":"1234"}', extra: '{}' };
    for (const channel of CHANNELS)
      await ledger.append({ network: channel.split('.')[0]!, channel, note: '', records: [secret] });
  }, 120_000);

  it('is covered by the table of rights for every function that a role can call', async () => {
    const rows = await of('owner').query<{ name: string }>({
      text: `SELECT DISTINCT proname AS name FROM pg_proc WHERE pronamespace = 'ledger'::regnamespace AND prosecdef`,
    });
    const names = rows.map(({ name }) => name).sort();
    for (const table of [EXPECTED, CALLS]) expect(Object.keys(table).sort()).toEqual(names);
  });

  it.each(Object.entries(EXPECTED))('may call %s for its own channels only', async (name, expected) => {
    for (const role of ROLES) {
      const found = new Map<string, string>();
      for (const channel of CHANNELS) {
        const call = CALLS[name]!;
        const values = call.includes('$1') ? [channel] : [];
        const text = `SELECT * FROM ledger.${call.replaceAll('$1', '$1::text')}`;
        const outcome = await outcomeOf(of(role), text, values);
        found.set(channel, /^(55000|40001): /.test(outcome) ? 'answered' : outcome);
      }
      const wanted = CHANNELS.map((channel) => [
        channel,
        expected[role].split(' ').includes(channel) ? 'answered' : 'refused',
      ]);
      expect([role, ...found]).toEqual([role, ...wanted]);
    }
  });

  it('sees only its own channels in the list', async () => {
    const seen = async (role: string) =>
      (await of(role).query<{ channel: string }>({ text: `SELECT channel FROM ledger.channels('', 100)` }))
        .map(({ channel }) => channel)
        .join(' ');
    expect(await seen('risk')).toBe('demo.evidence');
    expect(await seen('ingest')).toBe('acme.main demo.main');
    expect(await seen('peer')).toBe([...CHANNELS].sort().join(' '));
    expect(await seen('stranger')).toBe('');
  });

  it.each(ROLES)('%s sees times of the channels that it may read', async (role) => {
    const rows = await of(role).query<{ channel: string; idx: string; at_ms: string | null }>({
      text: 'SELECT * FROM ledger.times($1, $2) ORDER BY channel',
      values: [CHANNELS, CHANNELS.map(() => 1)],
    });
    const readable = CHANNELS.filter((channel) => EXPECTED['record']![role].split(' ').includes(channel)).sort();
    expect(rows.map(({ channel, idx }) => [channel, idx])).toEqual(readable.map((channel) => [channel, '0']));
    for (const { at_ms: at } of rows) expect(Number(at)).toBeGreaterThan(0);
  });

  it.each(ROLES)('%s can access no table, call no internal function, and assume no other role', async (role) => {
    const tables = await of('owner').query<{ name: string; column: string }>({
      text: `SELECT c.oid::regclass::text AS name, (SELECT attname FROM pg_attribute WHERE attrelid = c.oid AND attnum = 2) AS column
               FROM pg_class c WHERE relnamespace = 'ledger'::regnamespace AND relkind IN ('r', 'p', 'v')`,
    });
    const inner = await of('owner').query<{ call: string }>({
      text: `SELECT format('%s(%s)', oid::regproc, (SELECT string_agg(CASE WHEN provariadic <> 0 AND n = pronargs THEN 'VARIADIC ' ELSE '' END || 'NULL::' || t::regtype, ', ' ORDER BY n)
                        FROM unnest(proargtypes) WITH ORDINALITY a (t, n))) AS call
               FROM pg_proc WHERE pronamespace = 'ledger'::regnamespace AND NOT prosecdef AND prorettype <> 'trigger'::regtype`,
    });
    expect([tables.length > 12, inner.length > 10]).toEqual([true, true]);
    const attempts = [
      ...tables.flatMap(({ name, column }) => [
        `SELECT * FROM ${name}`,
        `INSERT INTO ${name} DEFAULT VALUES`,
        `UPDATE ${name} SET "${column}" = "${column}"`,
        `DELETE FROM ${name}`,
        `TRUNCATE ${name}`,
      ]),
      ...inner.map(({ call }) => `SELECT ${call}`),
      'SET ROLE owner',
      'SET SESSION AUTHORIZATION owner',
      `SELECT ledger.set_grants('${role}', 'mine', '[{"channel": "all", "rights": ["read", "erase"]}]')`,
      'CREATE TABLE ledger.mine ()',
      `CREATE FUNCTION ledger.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'`,
      'ALTER FUNCTION ledger.erase SECURITY INVOKER',
    ];
    const outcomes = new Map<string, string>();
    for (const text of attempts) outcomes.set(text, await outcomeOf(of(role), text));
    // A view cannot be written to; that error precedes the permission check.
    const wrong = [...outcomes].filter(
      ([, outcome]) => outcome !== 'refused' && !/^(55000|42809|0A000): /.test(outcome),
    );
    expect(wrong).toEqual([]);
  });

  it('gains nothing from its own schema ahead of the ledger schema', async () => {
    const text = `CREATE TEMP TABLE grants AS SELECT 'gate'::text AS role, 'x'::text AS surface, 'all'::text AS channel,
      ARRAY['read'] AS rights, false AS owns`;
    const call = of('gate').transaction(async (sql) => {
      await sql.query({ text });
      await sql.query({ text: `SET LOCAL search_path = pg_temp, ledger` });
      return sql.query({ text: `SELECT * FROM ledger.record('demo.main', 'secret')` });
    });
    await expect(call).rejects.toMatchObject({ code: DENIED });
  });

  it('erases only with an audit event of actor, reason and request', async () => {
    const erase = (reason: string) => ({
      text: 'SELECT ledger.erase($1, $2, $3, $4, $5, $6)',
      values: ['acme.main', 'secret', reason, 1, 'admin:01234567', 'req_1'],
    });
    await expect(of('operator').query(erase(''))).rejects.toThrow('an erasure has a reason');
    await of('operator').query(erase('asked for'));
    const events = await of('owner').query({
      text: 'SELECT reason, erased_by, actor, request_id FROM ledger.erasures',
    });
    expect(events).toEqual([
      { reason: 'asked for', erased_by: 'operator', actor: 'admin:01234567', request_id: 'req_1' },
    ]);
  });

  it('works through a login role that is a member, which gets no more rights', async () => {
    expect(await outcomeOf(of('member'), `SELECT * FROM ledger.record('demo.evidence', 'secret')`)).toBe('answered');
    expect(await outcomeOf(of('member'), `SELECT * FROM ledger.record('demo.cases', 'secret')`)).toBe('refused');
  });

  it('loses a revoked right at once, even if used a moment ago', async () => {
    const ledger = embeddedLedger({ sql: of('ingest'), origin: 'x', now: Date.now });
    const unit = (id: string) => ({
      network: 'acme',
      channel: 'acme.lost',
      note: '',
      records: [{ id, type: 't', owner: null, data: '{}', extra: null }],
    });
    expect(await ledger.mayAppend('acme.lost')).toBe(true);
    await ledger.append(unit('a'));
    await ledger.append(unit('b'));
    await migrate({
      url,
      sets: [ledgerMigrations],
      statements: told({
        surface: 'gate',
        role: 'gate',
        channels: { kind: 'owned', names: ['demo.cases', 'acme.lost'] },
      }),
    });
    expect(await ledger.mayAppend('acme.lost')).toBe(false);
    await expect(ledger.append(unit('c'))).rejects.toMatchObject({ cause: { code: DENIED } });
  });
});

describe('a migration job', () => {
  const reads = (url: string, role: string, channel: string) =>
    outcomeOf(connect(urlAs(url, role)), `SELECT * FROM ledger.record('${channel}', 'x')`);

  it('may use one role for all surfaces: it has their combined rights', async () => {
    const url = await emptyDatabase();
    for (const [surface, channel] of [
      ['risk', 'demo.evidence'],
      ['gate', 'demo.cases'],
    ] as const)
      await job(url, 'app', told({ surface, role: 'app', channels: owned(channel) }));
    expect(await reads(url, 'app', 'demo.evidence')).toBe('answered');
    expect(await reads(url, 'app', 'demo.cases')).toBe('answered');
    expect(await reads(url, 'app', 'acme.main')).toBe('refused');
  });

  it('that does not know the channels excludes its role from owned channels only', async () => {
    const url = await emptyDatabase();
    await job(url, 'gate', B);
    await job(url, 'ingest', told({ surface: 'ingest', role: 'ingest' }));
    expect(await reads(url, 'ingest', 'acme.main')).toBe('answered');
    expect(await reads(url, 'ingest', 'demo.cases')).toBe('refused');
  });
});
