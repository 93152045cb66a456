import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { executeSql, smallDisk, throwawayPostgres, until, type OwnPostgres } from '@sealgate/testing';
import { databaseCheck, openDatabase, type Database } from './index.ts';

const disk = smallDisk(24, 'a full disk of PostgreSQL');

(disk === undefined ? describe.skip : describe)('a database whose disk is full', () => {
  let server: OwnPostgres;
  let database: Database;
  const told: (string | undefined)[] = [];
  const filler = join(disk?.path ?? '', 'filler');
  beforeAll(async () => {
    server = await throwawayPostgres({ own: true });
    const owner = spawnSync('stat', ['-c', '%u:%g', `/proc/${server.pid}`], { encoding: 'utf8' }).stdout.trim();
    spawnSync('mkdir', ['-m', '700', join(disk!.path, 'space')]);
    spawnSync('chown', [owner, join(disk!.path, 'space')]);
    await executeSql(server.url, `CREATE TABLESPACE small LOCATION '${join(disk!.path, 'space')}'`);
    await executeSql(server.url, 'CREATE DATABASE small TABLESPACE small');
    database = openDatabase({
      url: Object.assign(new URL(server.url), { pathname: '/small' }).href,
      applicationName: 'full-disk',
      maxConnections: 2,
      connectTimeoutMs: 5_000,
      deadlineMs: 10_000,
      onDisk: (problem) => told.push(problem),
    });
    await database.query({ text: 'CREATE TABLE t (id int, filling text)' });
  }, 120_000);
  afterAll(async () => {
    await database?.close();
    await server?.stop();
    disk?.release();
  });

  const insert = { text: `INSERT INTO t SELECT 1, repeat(md5(random()::text), 4096) FROM generate_series(1, 20)` };

  it('refuses writes at once, names it in readiness, reports it once, and notices when there is space again', async () => {
    const check = databaseCheck({ sql: database, sets: [], onChange: () => undefined });
    expect(await check.problem()).toBeUndefined();
    spawnSync('dd', ['if=/dev/zero', `of=${filler}`, 'bs=64k'], { stdio: 'ignore' });
    // The rest of the pages that it has already.
    const refusal = { name: 'DatabaseFullError', sent: false };
    await until(async () => (await database.query(insert).catch((error: Error) => [error])).length === 1);
    await expect(database.query(insert)).rejects.toMatchObject(refusal);
    await expect(database.transaction((sql) => sql.query(insert))).rejects.toMatchObject(refusal);
    expect(await check.problem()).toMatch(/the disk of the database takes no writes: could not extend file/);
    expect(await check.problem()).toMatch('the disk of the database takes no writes');
    // Reads go on.
    expect(await database.query({ text: 'SELECT count(*)::int AS n FROM t WHERE id = 0' })).toEqual([{ n: 0 }]);
    expect(told).toHaveLength(1);

    rmSync(filler);
    expect(await check.problem()).toBeUndefined();
    expect(told).toEqual([expect.stringContaining('could not extend file'), undefined]);
    await database.query(insert);
    writeFileSync(filler, '');
  }, 60_000);
});
