import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { migrate, openDatabase, type Database } from '@sealgate/storage';
import { throwawayPostgres, type ThrowawayPostgres } from '@sealgate/testing';
import { ledgerGrants, ledgerMigrations, type GrantsOrder } from './ledger-grants.ts';

const CHANNELS: Readonly<Record<string, GrantsOrder['channels']>> = {
  stalled: { kind: 'owned', names: ['demo.cases'] },
  integrating: { kind: 'shared', names: ['demo.main'] },
  stalling: { kind: 'unowned', reads: false },
};

let server: ThrowawayPostgres;
let url: string;
const opened: Database[] = [];
const connect = (address: string): Database => {
  const options = { applicationName: 'stalling', maxConnections: 2, connectTimeoutMs: 10_000, deadlineMs: 30_000 };
  const database = openDatabase({ ...options, url: address });
  opened.push(database);
  return database;
};
const as = (role: string): Database => connect(Object.assign(new URL(url), { username: role, password: role }).href);

beforeAll(async () => {
  server = await throwawayPostgres();
  url = await server.newDatabase();
  const owner = connect(url);
  for (const [role, channels] of Object.entries(CHANNELS)) {
    await owner.query({ text: `CREATE ROLE ${role} LOGIN PASSWORD '${role}'` });
    const order = { surface: role, role, adminRole: undefined, channels, integrates: role === 'integrating' };
    await migrate({ url, sets: [ledgerMigrations], runtimeRoles: { ledger: role }, statements: ledgerGrants(order) });
  }
  for (const channel of ['demo.cases', 'demo.main']) {
    await owner.query({ text: 'SELECT ledger.open_channel($1, $2)', values: ['demo', channel] });
  }
}, 120_000);
afterAll(async () => {
  await Promise.all(opened.map((database) => database.close()));
  await server.stop();
});

/** One record for each channel, with a forged record count. */
const appending = (channels: readonly string[], records = channels.map(() => 1)) => ({
  text: `SELECT ledger.append_many($1::text[], array_fill('demo'::text, n), array_fill(NULL::bytea, n),
      array_fill(NULL::text, n), array_fill(sha256(''), n), array_fill(sha256(''), n), array_fill('{}'::text, n),
      array_fill(1::bigint, n), $2::integer[], $3::integer[], $4::text[], array_fill('t'::text, n),
      array_fill(NULL::text, n), array_fill('{}'::text, n), array_fill(NULL::text, n), array_fill(sha256(''), n),
      array_fill(sha256(''), n)) FROM (SELECT ARRAY[cardinality($1::text[])] AS n) s`,
  values: [channels, records, channels.map((_, place) => place + 1), channels.map((_, place) => `id-${place}`)],
});
const COMMIT = `SELECT ledger.integrate_commit(ARRAY['demo.main'], ARRAY[$1::int8], ARRAY[sha256('')], ARRAY['note'],
  '{}', '{}', '{}', '{}')`;

/** Resolves once a statement of this role waits for a lock. */
async function waitingFor(database: Database, role: string): Promise<void> {
  const text = 'SELECT 1 FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE NOT l.granted AND a.usename = $1';
  while ((await database.query({ text, values: [role] })).length === 0);
}

/** Runs work in a transaction that is rolled back. */
async function undone(database: Database, work: (sql: Pick<Database, 'query'>) => Promise<unknown>): Promise<void> {
  const run = database.transaction(async (sql) => {
    await work(sql);
    throw new Error('undo');
  });
  await expect(run).rejects.toThrow('undo');
}

describe('a malicious role', () => {
  it('does not block other channels while it waits for one of its own', async () => {
    let tried: Promise<unknown> | undefined;
    await undone(as('stalling'), async (holder) => {
      await holder.query(appending(['demo.main']));
      tried = as('stalling')
        .query(appending(['demo.cases', 'demo.main']))
        .catch((error: unknown) => error);
      await Promise.race([tried, waitingFor(connect(url), 'stalling')]);
      await undone(as('stalled'), async (gate) => {
        await gate.query({ text: `SET LOCAL lock_timeout = '2s'` });
        await gate.query(appending(['demo.cases']));
      });
    });
    expect(await tried).toMatchObject({ code: '42501' });
  });

  it('cannot block integration of a channel by a lock that every role can take', async () => {
    const lock = `SELECT pg_advisory_xact_lock(hashtextextended('ledger.integrator demo.main', 0))`;
    const begin = `SELECT head::text FROM ledger.integrate_begin('demo.main', 10)`;
    await undone(as('stalling'), async (sql) => {
      await sql.query({ text: lock });
      await undone(as('integrating'), async (peer) => {
        await peer.query({ text: COMMIT, values: [0] });
        expect(await peer.query({ text: begin })).toEqual([{ head: '0' }]);
      });
    });
  });

  it.each([[[100_000_000]], [[-1]], [[2]], [[0]]])(
    'moves a head by as many records as it sends: %j',
    async (records) => {
      await expect(as('stalling').query(appending(['demo.main'], records))).rejects.toMatchObject({ code: '22023' });
    },
  );

  it('signs no checkpoint of more records than exist', async () => {
    await expect(as('integrating').query({ text: COMMIT, values: [100_000_000] })).rejects.toMatchObject({
      code: '22023',
    });
  });
});
