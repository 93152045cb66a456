import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { migrate, openDatabase, type Database } from '@sealgate/storage';
import { testClock, testIds, throwawayPostgres, type ThrowawayPostgres } from '@sealgate/testing';
import { apiKeyMigrations, apiKeys, lastUsedWriter, type LastUsedWriter } from './index.ts';

let server: ThrowawayPostgres;
let sql: Database;
let clock: ReturnType<typeof testClock>;
let ids: string[];
const failures: unknown[] = [];

const writer = (): LastUsedWriter =>
  lastUsedWriter({ sql, schema: 'desk', now: clock.now, onError: (error) => failures.push(error) });
const lastUsed = async (): Promise<(string | null)[]> => {
  const text = 'SELECT last_used_at AS at FROM desk.api_keys ORDER BY id';
  return (await sql.query<{ at: Date | null }>({ text })).map(({ at }) => at?.toISOString() ?? null);
};

beforeAll(async () => {
  server = await throwawayPostgres();
  await migrate({ url: server.url, sets: [apiKeyMigrations('desk')] });
  const options = { applicationName: 'last-used-test', maxConnections: 8, connectTimeoutMs: 5_000, deadlineMs: 20_000 };
  sql = openDatabase({ ...options, url: server.url });
}, 120_000);
afterAll(async () => {
  await sql.close();
  await server.stop();
});
beforeEach(async () => {
  await sql.query({ text: 'TRUNCATE desk.api_keys' });
  clock = testClock('2026-01-01T00:00:00.000Z');
  const keys = apiKeys({ sql, schema: 'desk', prefix: 'gk_', now: clock.now, newId: testIds() });
  ids = [];
  for (const label of ['a', 'b', 'c'])
    ids.push((await sql.transaction((tx) => keys.mint({ ownerId: 'acme', label, grants: {} }, tx))).id);
  failures.length = 0;
});

describe('last_used_at', () => {
  it('is the time of use, for used keys only', async () => {
    const writing = writer();
    writing.touch(ids[0]!);
    clock.advance(250);
    writing.touch(ids[2]!);
    writing.touch('key_unknown');
    await writing.close();
    expect(await lastUsed()).toEqual(['2026-01-01T00:00:00.000Z', null, '2026-01-01T00:00:00.250Z']);
    expect(failures).toEqual([]);
  });

  it('is written once a minute over all replicas', async () => {
    const replicas = [writer(), writer(), writer()];
    for (const secondsLater of [0, 20, 39, 1]) {
      clock.advance(secondsLater * 1_000);
      for (const replica of replicas) for (const id of ids) replica.touch(id);
      await Promise.all(replicas.map((replica) => replica.flush()));
    }
    expect(failures).toEqual([]);
    expect(new Set(await lastUsed())).toEqual(new Set(['2026-01-01T00:01:00.000Z']));
    const late = writer(); // A replica that has just started has no record of the write.
    clock.advance(59_999);
    late.touch(ids[0]!);
    await late.close();
    expect(new Set(await lastUsed())).toEqual(new Set(['2026-01-01T00:01:00.000Z']));
  });

  it('does not wait for a locked key', async () => {
    await sql.transaction(async (transaction) => {
      await transaction.query({ text: `UPDATE desk.api_keys SET label = 'busy' WHERE id = $1`, values: [ids[0]] });
      const writing = writer();
      for (const id of ids) writing.touch(id);
      await writing.close();
    });
    expect(failures).toEqual([]);
    expect(await lastUsed()).toEqual([null, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z']);
  });
});
