import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { throwawayPostgres, until, type ThrowawayPostgres } from '@sealgate/testing';
import { DatabaseRefusedError, migrate, openDatabase, type Database } from './index.ts';

let server: ThrowawayPostgres;
let owner: Database;
const folder = mkdtempSync(join(tmpdir(), 'sealgate-url-'));
const file = join(folder, 'url');
const limits = { maxConnections: 4, connectTimeoutMs: 5_000, deadlineMs: 10_000 };

beforeAll(async () => {
  server = await throwawayPostgres();
  owner = openDatabase({ url: server.url, applicationName: 'owner', ...limits });
}, 120_000);
afterAll(async () => {
  await owner.close();
  await server.stop();
  rmSync(folder, { recursive: true });
});
let roles = 0;
let [first, second] = ['', ''];
beforeEach(async () => {
  [first, second] = [`url_a${(roles += 1)}`, `url_b${roles}`];
  for (const role of [first, second]) await owner.query({ text: `CREATE ROLE ${role} LOGIN PASSWORD 'p-${role}'` });
});

/** Replaces the file as an update of a mounted Secret does. */
function write(role: string): void {
  const url = new URL(server.url);
  [url.username, url.password] = [role, `p-${role}`];
  writeFileSync(file, `${url.href}\n`);
}

const open = () => openDatabase({ url: pathToFileURL(file).href, applicationName: 'url-file', ...limits });
const whoAmI = async (database: Database): Promise<string> =>
  (await database.query<{ me: string }>({ text: 'SELECT current_user AS me' }))[0]!.me;
const connectionsOf = async (role: string): Promise<number> =>
  (await owner.query({ text: 'SELECT FROM pg_stat_activity WHERE usename = $1', values: [role] })).length;

it('switches to another role under load without a failure, and closes all connections of the first', async () => {
  write(first);
  const database = open();
  const seen = new Set<string>();
  const failures: unknown[] = [];
  let isStopped = false;
  const workers = [1, 2, 3, 4, 5, 6].map(async (number) => {
    while (!isStopped) {
      const asked = number % 2 === 0 ? whoAmI(database) : database.transaction((sql) => whoAmI(sql as Database));
      await asked.then((me) => seen.add(me)).catch((error: unknown) => failures.push(error));
    }
  });
  await until(() => seen.has(first));
  write(second);
  await until(async () => seen.has(second) && (await connectionsOf(first)) === 0, { timeoutMs: 20_000 });
  isStopped = true;
  await Promise.all(workers);
  expect(failures).toEqual([]);
  // No session uses it any more.
  await owner.query({ text: `DROP ROLE ${first}` });
  expect(await whoAmI(database)).toBe(second);
  await database.close();
});

it('re-reads the file when a new connection is refused, and reports the refusal if it is unchanged', async () => {
  write(first);
  const database = open();
  expect(await whoAmI(database)).toBe(first);
  await owner.query({ text: `ALTER ROLE ${first} NOLOGIN` });
  // Two at once: one of them needs a new connection.
  const held = database.transaction(async () => {
    await expect(whoAmI(database)).rejects.toBeInstanceOf(DatabaseRefusedError);
    writeFileSync(file, 'half writ');
    await expect(whoAmI(database)).rejects.toBeInstanceOf(DatabaseRefusedError);
    write(second);
    let me = '';
    await until(async () => ((me = await whoAmI(database).catch(() => '')) === '' ? false : true), {
      timeoutMs: 5_000,
    });
    expect(me).toBe(second);
  });
  await held;
  await database.close();
});

it('throws for a file without a URL, and migrate reads the file too', async () => {
  writeFileSync(file, 'mysql://u:secret@h/d');
  expect(open).toThrow(/holds no URL of PostgreSQL/);
  expect(open).not.toThrow(/secret/);
  writeFileSync(file, server.url);
  expect(await migrate({ url: pathToFileURL(file).href, sets: [] })).toEqual([]);
});
