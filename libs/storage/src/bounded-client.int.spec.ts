import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { executeSql, postgresPair, until, type PostgresPair } from '@sealgate/testing';
import { DatabaseServers, ROLE_TEXT } from './bounded-client.ts';
import { migrate, openDatabase, type Database } from './index.ts';

describe('DatabaseServers', () => {
  it('yields one URL per server in order, without target_session_attrs', () => {
    const servers = new DatabaseServers(
      'postgresql://u:p%40@h1:5432,[::1]:5433,h3/d?target_session_attrs=read-write&application_name=x',
    );
    const seen: string[] = [];
    for (let n = 0; n < 4; n += 1) {
      seen.push(servers.url);
      servers.leave(servers.url);
    }
    const rest = '/d?application_name=x';
    const [one, two, three] = ['h1:5432', '[::1]:5433', 'h3'].map((host) => `postgresql://u:p%40@${host}${rest}`);
    expect(seen).toEqual([one, two, three, one]);
    expect(servers.mustWrite).toBe(true);
  });

  it('moves on once, however many callers report the same server', () => {
    const servers = new DatabaseServers('postgresql://h1,h2,h3/d');
    const first = servers.url;
    servers.leave(first);
    servers.leave(first);
    expect(servers.url).toBe('postgresql://h2/d');
  });

  it('does not require writes of a single server unless the URL says so', () => {
    const socket = 'postgresql:///d?host=/run/postgresql';
    expect(new DatabaseServers(socket)).toMatchObject({ url: socket, mustWrite: false, count: 1 });
    expect(new DatabaseServers('postgres://h/d?target_session_attrs=primary')).toMatchObject({
      url: 'postgres://h/d',
      mustWrite: true,
    });
  });

  it('rejects a standby, a read-only server and a stale primary', () => {
    const role = { standby: false, read_only: false, cluster: 'test', wal_file: '00000002000000000000000A' };
    const servers = new DatabaseServers('postgresql://h1,h2/d');
    expect(servers.fault({ ...role, standby: true, read_only: true })).toMatch('standby');
    expect(servers.fault({ ...role, read_only: true })).toMatch('no writes');
    expect(servers.fault(role)).toBeUndefined();
    // Timelines are shared by all pools of the process.
    const others = new DatabaseServers('postgresql://h2,h1/d');
    expect(others.fault({ ...role, wal_file: '000000010000000000000FFF' })).toMatch('stale primary');
    expect(others.fault({ ...role, wal_file: '000000110000000000000FFF' })).toBeUndefined();
    expect(others.fault({ ...role, cluster: 'restored', wal_file: '000000010000000000000001' })).toBeUndefined();
    expect(others.fault({ ...role, cluster: null, wal_file: null })).toBeUndefined();
  });
});

describe('a pool over a primary and its standby', () => {
  let pair: PostgresPair;
  const opened: Database[] = [];
  beforeAll(async () => {
    pair = await postgresPair();
    await executeSql(pair.primaryUrl, 'CREATE TABLE t (id int PRIMARY KEY)');
  }, 120_000);
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((database) => database.close()));
  });
  afterAll(() => pair.stop());
  const open = (url: string): Database => {
    const limits = { maxConnections: 3, connectTimeoutMs: 1_000, deadlineMs: 2_000 };
    const database = openDatabase({ url, applicationName: 'servers-test', ...limits });
    opened.push(database);
    return database;
  };
  const insert = (id: number) => ({ name: 'insert', text: 'INSERT INTO t VALUES ($1) RETURNING id', values: [id] });
  const reversed = (): string => pair.url.replace(/@([^,]*),([^/]*)\//, '@$2,$1/');

  it('finds the server that takes writes in any position, also for migrations', async () => {
    expect(await open(pair.url).query(insert(1))).toEqual([{ id: 1 }]);
    expect(await open(reversed()).query(insert(2))).toEqual([{ id: 2 }]);
    expect(await migrate({ url: reversed(), sets: [] })).toEqual([]);
  });

  it('reads timelines also under a role without any right', async () => {
    await executeSql(pair.primaryUrl, `CREATE ROLE plain LOGIN PASSWORD 'plain'`);
    const url = Object.assign(new URL(pair.primaryUrl), { username: 'plain', password: 'plain' }).href;
    const [row] = await open(url).query({ text: ROLE_TEXT });
    expect(row).toMatchObject({
      standby: false,
      cluster: expect.stringMatching(/^\d+$/),
      wal_file: expect.stringMatching(/^00000001[0-9A-F]{16}$/),
    });
  });

  it('refuses a standby that is the only server if the URL asks for read-write', async () => {
    const url = `${pair.standbyUrl}?target_session_attrs=read-write`;
    await expect(open(url).query({ text: 'SELECT 1' })).rejects.toMatchObject({
      name: 'DatabaseUnavailableError',
      sent: false,
    });
    await expect(migrate({ url, sets: [] })).rejects.toThrow('standby');
  });

  it('reports a write refused by a standby as not sent, and drops the connection', async () => {
    const database = open(pair.standbyUrl);
    const refused = { name: 'DatabaseUnavailableError', sent: false };
    await expect(database.query(insert(3))).rejects.toMatchObject(refused);
    await expect(database.transaction((sql) => sql.query(insert(3)))).rejects.toMatchObject(refused);
    expect(database.stats().total).toBe(0);
  });

  it('uses the promoted server within five seconds and does not return to the old primary', async () => {
    const database = open(pair.url);
    await database.query(insert(10));
    await pair.failOver();
    const promotedAt = performance.now();
    let id = 10;
    await until(async () => (await database.query(insert((id += 1))).catch(() => [])).length === 1, {
      timeoutMs: 5_000,
      what: 'a write at the new primary',
    });
    expect(performance.now() - promotedAt).toBeLessThan(5_000);

    await pair.startOld();
    // Every connection is cut, and the old primary is first in the URL.
    await executeSql(
      pair.primaryUrl,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'servers-test'`,
    );
    for (const address of [pair.url, reversed()]) {
      const other = open(address);
      for (let n = 0; n < 5; n += 1) await other.query({ ...insert((id += 1)) });
    }
    const old = open(pair.standbyUrl);
    expect(await old.query({ text: 'SELECT count(*)::int AS n FROM t WHERE id > 10' })).toEqual([{ n: 0 }]);
    await pair.rejoin();
  }, 120_000);
});
