import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { executeSql, postgresPair, throwawayPostgres, until, type PostgresPair } from '@sealgate/testing';
import { DatabaseServers, ROLE_TEXT, type ServerRole } from './database-servers.ts';
import { databaseCheck, migrate, openDatabase, type Database } from './index.ts';
import { timelineMemory, type TimelineEvent, type TimelineMemory } from './timeline-memory.ts';

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

  const role: ServerRole = {
    standby: false,
    read_only: false,
    cluster: '7',
    database: '5',
    timeline: '2',
    accepted: null,
  };
  const refusal = async (servers: DatabaseServers, ...more: Partial<ServerRole>[]): Promise<string | undefined> =>
    (await servers.judge('h1:5432', Object.assign({}, role, ...more) as ServerRole)).fault?.reason;

  it('rejects a standby, a read-only server and a stale primary', async () => {
    const servers = new DatabaseServers('postgresql://h1,h2/d');
    expect(await refusal(servers, { standby: true, read_only: true })).toBe('h1:5432 is a standby');
    expect(await refusal(servers, { read_only: true })).toBe('h1:5432 takes no writes');
    expect(await refusal(servers)).toBeUndefined();
    // Timelines are shared by all pools of the process.
    const others = new DatabaseServers('postgresql://h2,h1/d');
    expect(await refusal(others, { timeline: '1' })).toBe(
      'h1:5432 is a former primary on timeline 1 and is not used: timeline 2 was seen, so another server was promoted. If this is the server to use, run `sealgate database accept-timeline`',
    );
    expect(await refusal(others, { timeline: '17' })).toBeUndefined();
    expect(await refusal(others, { cluster: 'restored', timeline: '1' })).toBeUndefined();
    expect(await refusal(others, { cluster: null, database: null, timeline: null })).toBeUndefined();
  });

  it('uses an accepted timeline in place of every newer one that came before, until the next promotion', async () => {
    const events: TimelineEvent[] = [];
    const timelines = timelineMemory({ report: (event) => events.push(event) });
    const servers = new DatabaseServers('postgresql://h1,h2/d', timelines);
    const accepted = { timeline: '1', accepted: '1900000000000 timeline 1 by postgres: restored' };
    expect(await refusal(servers, { timeline: '5' })).toBeUndefined();
    expect(await refusal(servers, { timeline: '1' })).toMatch('former primary on timeline 1');
    expect(await refusal(servers, accepted)).toBeUndefined();
    // The server that was abandoned, and then the accepted one after a promotion of its own standby.
    expect(await refusal(servers, { timeline: '5' })).toMatch(
      'another server was accepted at 2030-03-17T17:46:40.000Z',
    );
    expect(await refusal(servers, accepted, { timeline: '2' })).toBeUndefined();
    expect(await refusal(servers, accepted)).toMatch('timeline 2 was seen');
    expect(events.map(({ event }) => event)).toEqual(['refused', 'accepted', 'refused', 'refused']);
    expect(events[1]).toMatchObject({ database: '7.5', by: 'timeline 1 by postgres: restored' });
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
  const open = (url: string, timelines?: TimelineMemory): Database => {
    const limits = { maxConnections: 3, connectTimeoutMs: 1_000, deadlineMs: 2_000 };
    const database = openDatabase({ url, applicationName: 'servers-test', ...limits, timelines });
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
      database: expect.stringMatching(/^\d+$/),
      timeline: '1',
      accepted: null,
    });
  });

  it('refuses a standby that is the only server if the URL asks for read-write', async () => {
    const url = `${pair.standbyUrl}?target_session_attrs=read-write`;
    await expect(open(url).query({ text: 'SELECT 1' })).rejects.toMatchObject({
      name: 'ServerUnfitError',
      kind: 'standby',
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

  it('of which the old primary returns asks all of them first, so that a new process does not write to it', async () => {
    const before = open(pair.url);
    await before.query(insert(100));
    await pair.failOver();
    await pair.startOld();
    // Memories of their own, as of processes that were started now. The old primary is first in one of the URLs.
    for (const [index, url] of [pair.url, reversed()].entries()) {
      const fresh = open(url, timelineMemory());
      for (let n = 0; n < 3; n += 1) await fresh.query(insert(200 + 10 * index + n));
      await migrate({ url, sets: [] });
    }
    const old = open(pair.standbyUrl);
    expect(await old.query({ text: 'SELECT count(*)::int AS n FROM t WHERE id >= 200' })).toEqual([{ n: 0 }]);
  }, 120_000);

  it('refuses the old primary while the new one is away, from what was kept in a folder, and says so', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sealgate-state-'));
    await open(pair.url, timelineMemory({ folder })).query({ text: 'SELECT 1' });
    const events: TimelineEvent[] = [];
    const report = (event: TimelineEvent) => events.push(event);
    const onlyOld = new URL(pair.standbyUrl).host;
    const url = `${pair.url.replace(/@[^/]*/, `@${onlyOld},127.0.0.1:1`)}`;
    const restarted = open(url, timelineMemory({ folder, report }));
    await expect(restarted.query(insert(300))).rejects.toMatchObject({ name: 'ServerUnfitError', sent: false });
    const check = databaseCheck({ sql: restarted, sets: [], onChange: () => undefined });
    expect(await check.problem()).toMatch(`${onlyOld} is a former primary on timeline`);
    expect(events.filter(({ event }) => event === 'refused')).toHaveLength(1);
    // It knew the newest timeline, so a server that is away is not worth a line.
    expect(events.filter(({ event }) => event === 'silent')).toEqual([]);

    // Without the folder nothing is known: the silent server is named, and the start goes on.
    const forgetful = open(url, timelineMemory({ report }));
    await forgetful.query({ text: 'SELECT 1' });
    expect(events.filter(({ event }) => event === 'silent')).toMatchObject([{ server: '127.0.0.1:1' }]);
    rmSync(folder, { recursive: true });
  }, 120_000);

  it('stops using the old primary once another process has seen the new one', async () => {
    const timelines = timelineMemory();
    const database = open(pair.standbyUrl + '?target_session_attrs=primary', timelines);
    await database.query({ text: 'SELECT 1' });
    const [role] = await open(pair.primaryUrl).query<ServerRole>({ text: ROLE_TEXT });
    timelines.see(`${role!.cluster}.${role!.database}`, { accepted: 0, timeline: Number(role!.timeline) });
    await expect(database.query({ text: 'SELECT 1' })).rejects.toMatchObject({ kind: 'stale' });
  });

  it('refuses two clusters in one URL, and recovers when one of them is gone', async () => {
    const other = await throwawayPostgres({ own: true });
    const { password } = new URL(pair.primaryUrl);
    await executeSql(other.url, `CREATE DATABASE pair`);
    await executeSql(other.url, `ALTER ROLE postgres PASSWORD '${password}'`);
    const url = pair.url.replace(/@[^/]*/, `@${new URL(pair.primaryUrl).host},127.0.0.1:${other.port}`);
    const database = open(url, timelineMemory());
    await expect(database.query({ text: 'SELECT 1' })).rejects.toThrow('primaries of different clusters');
    await other.stop();
    await until(async () => (await database.query({ text: 'SELECT 1' }).catch(() => [])).length === 1);
  }, 120_000);
});
