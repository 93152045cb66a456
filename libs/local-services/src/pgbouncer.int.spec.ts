import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import {
  findPgBouncer,
  isPortFree,
  removeCluster,
  startPgBouncer,
  startPostgres,
  type LocalPostgres,
} from './index.ts';
import { commandLineOf } from './processes.ts';

async function ask(url: string, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

it('findPgBouncer returns undefined where there is none', () => {
  expect(findPgBouncer(['/nowhere'])).toBeUndefined();
});

const describeWithPgBouncer = findPgBouncer() === undefined ? describe.skip : describe;
if (findPgBouncer() === undefined) process.stderr.write('SKIPPED startPgBouncer: there is no pgbouncer on the PATH.\n');

describeWithPgBouncer('startPgBouncer', () => {
  let folder = '';
  let postgres: LocalPostgres;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sealgate-pgbouncer-test-'));
    chmodSync(folder, 0o755);
    const settings = { fsync: 'off', shared_buffers: '16MB' };
    postgres = await startPostgres({ dataDirectory: join(folder, 'data'), settings, removeWithOwner: folder });
  }, 120_000);
  afterAll(async () => {
    await postgres.stop('immediate');
    removeCluster(join(folder, 'data'));
    rmSync(folder, { recursive: true, force: true });
  });

  it('lends a server connection for a transaction, to the user of the URL only', async () => {
    const pooler = await startPgBouncer({ url: postgres.url, settings: { default_pool_size: '1' } });
    const { password, port } = new URL(pooler.url);
    const server = 'SELECT pg_backend_pid() AS pid, inet_server_port() AS port';
    const [first, second] = [await ask(pooler.url, server), await ask(pooler.url, server)];
    expect(second).toEqual(first);
    expect(first).toMatchObject([{ port: postgres.port }]);
    const wrong = Object.assign(new URL(pooler.url), { password: 'wrong' }).href;
    await expect(ask(wrong, 'SELECT 1')).rejects.toThrow(/authentication failed/);
    expect(commandLineOf(pooler.pid)).not.toContain(password);
    await pooler.stop();
    expect(await isPortFree(Number(port))).toBe(true);
  });

  it('reports a setting that PgBouncer refuses in one sentence', async () => {
    await expect(startPgBouncer({ url: postgres.url, settings: { pool_mode: 'none' } })).rejects.toThrow(
      /^PgBouncer does not start on port \d+: /,
    );
  });
});
