import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { keyHashOf, type NewApiKey } from '@sealgate/auth';
import { isKeyValid } from '@sealgate/auth/key-state';
import { AppError } from '@sealgate/errors';
import { migrate, openDatabase, type Database } from '@sealgate/storage';
import { testClock, testIds, throwawayPostgres, type ThrowawayPostgres } from '@sealgate/testing';
import { apiKeyMigrations, apiKeys, liveKeyCondition, type ApiKeys } from './index.ts';

interface Grants {
  readonly permissions?: readonly string[];
}

const DAY_MS = 24 * 3_600_000;
let server: ThrowawayPostgres;
let sql: Database;
let clock: ReturnType<typeof testClock>;
let keys: ApiKeys<Grants>;

const key = (more: Partial<NewApiKey<Grants>> = {}): NewApiKey<Grants> => ({
  ownerId: 'acme',
  label: 'a key',
  grants: {},
  ...more,
});
const mint = (made: NewApiKey<Grants>) => sql.transaction((transaction) => keys.mint(made, transaction));
const codeOf = async (call: Promise<unknown>): Promise<string> => {
  const error: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return error instanceof AppError ? error.code : String(error);
};
const isLive = async (id: string): Promise<boolean> => {
  const text = `SELECT ${liveKeyCondition('k', '$2')} AS live FROM desk.api_keys k WHERE id = $1`;
  const [row] = await sql.query<{ live: boolean }>({ text, values: [id, new Date(clock.now())] });
  return row?.live === true;
};
const labels = async (ownerId = 'acme'): Promise<string[]> =>
  (await keys.list(ownerId, { limit: 100 })).map(({ label }) => label);

beforeAll(async () => {
  server = await throwawayPostgres();
  await migrate({ url: server.url, sets: [apiKeyMigrations('desk')] });
  const options = { applicationName: 'api-keys-test', maxConnections: 8, connectTimeoutMs: 5_000, deadlineMs: 20_000 };
  sql = openDatabase({ ...options, url: server.url });
}, 120_000);
afterAll(async () => {
  await sql.close();
  await server.stop();
});
beforeEach(async () => {
  await sql.query({ text: 'TRUNCATE desk.api_keys' });
  clock = testClock('2026-01-01T00:00:00.000Z');
  keys = apiKeys<Grants>({ sql, schema: 'desk', prefix: 'ingest_', now: clock.now, newId: testIds() });
});

describe('mint', () => {
  it('returns the raw key once and stores only its hash', async () => {
    const minted = await mint(key({ grants: { permissions: ['ingest:ping'] }, expiresAt: new Date('2027-01-01') }));
    expect(minted).toEqual({
      id: 'key_000001',
      ownerId: 'acme',
      familyId: 'key_000001',
      label: 'a key',
      keyPrefix: minted.rawKey.slice(0, 12),
      grants: { permissions: ['ingest:ping'] },
      createdAt: new Date('2026-01-01T00:00:00.000Z'),
      expiresAt: new Date('2027-01-01T00:00:00.000Z'),
      revokedAt: null,
      endsAt: new Date('2027-01-01T00:00:00.000Z'),
      lastUsedAt: null,
      replaces: null,
      rawKey: expect.stringMatching(/^ingest_[A-Za-z0-9_-]{43}$/),
    });
    const { rawKey, ...row } = minted;
    expect(await keys.get('acme', minted.id)).toEqual(row);
    expect(await keys.list('acme', { limit: 10 })).toEqual([row]);
    const [stored] = await sql.query<{ row: string; key_hash: Buffer }>({ text: 'SELECT k::text AS row, key_hash FROM desk.api_keys k' }); // prettier-ignore
    expect(stored?.key_hash).toEqual(keyHashOf('ingest_', rawKey));
    expect(stored?.row).not.toContain(rawKey.slice(12));
  });

  it('refuses an overlap that is not a whole number of seconds up to seven days', async () => {
    for (const overlapSeconds of [-1, 1.5, 604_801, NaN]) {
      await expect(mint(key({ overlapSeconds }))).rejects.toThrow('overlap');
    }
  });

  it('is rolled back with the transaction of the caller', async () => {
    const call = sql.transaction(async (transaction) => {
      await keys.mint(key(), transaction);
      throw new Error('no');
    });
    await expect(call).rejects.toThrow('no');
    expect(await labels()).toEqual([]);
  });

  it('allows 200 live keys and any number of dead ones', async () => {
    const text = `INSERT INTO desk.api_keys (id, owner_id, family_id, label, key_prefix, key_hash, grants, created_at, revoked_at)
      SELECT $1 || n, 'acme', 'f', 'l', 'p', sha256(($1 || n)::bytea), '{}', $2, $3 FROM generate_series(1, $4::int) n`;
    const then = new Date(clock.now() - DAY_MS);
    await sql.query({ text, values: ['live_', then, null, 199] });
    await sql.query({ text, values: ['dead_', then, then, 300] });
    const last = await mint(key({ label: 'the 200th' }));
    expect(await codeOf(mint(key()))).toBe('LIMIT_REACHED');
    expect(await codeOf(mint(key({ replaces: last.id, overlapSeconds: 1 })))).toBe('LIMIT_REACHED');
    await mint(key({ ownerId: 'other' }));
    expect(await keys.countLive('acme')).toBe(200);
    await mint(key({ replaces: last.id })); // The replaced key makes room.
    await keys.revoke('acme', 'live_7', sql);
    await mint(key());
    expect(await keys.countLive('acme')).toBe(200);
  });

  it('enforces the limit under concurrent minting', async () => {
    const text = `INSERT INTO desk.api_keys (id, owner_id, family_id, label, key_prefix, key_hash, grants, created_at)
      SELECT 'k' || n, 'acme', 'f', 'l', 'p', sha256(('k' || n)::bytea), '{}', $1 FROM generate_series(1, 195) n`;
    await sql.query({ text, values: [new Date(clock.now())] });
    const codes = await Promise.all(Array.from({ length: 12 }, () => codeOf(mint(key()))));
    expect(codes.filter((code) => code === 'undefined')).toHaveLength(5);
    expect(codes.filter((code) => code === 'LIMIT_REACHED')).toHaveLength(7);
  });
});

describe('rotation', () => {
  it('ends the old key at once without an overlap', async () => {
    const old = await mint(key());
    const young = await mint(key({ replaces: old.id }));
    expect(young).toMatchObject({ familyId: old.familyId, replaces: old.id });
    expect([await isLive(old.id), await isLive(young.id)]).toEqual([false, true]);
    expect(await keys.countLive('acme')).toBe(1);
  });

  it('keeps the old key for the overlap, to the millisecond', async () => {
    const old = await mint(key());
    const young = await mint(key({ replaces: old.id, overlapSeconds: 604_800 }));
    clock.advance(604_800_000 - 1);
    expect([await isLive(old.id), await isLive(young.id)]).toEqual([true, true]);
    clock.advance(1);
    expect([await isLive(old.id), await isLive(young.id)]).toEqual([false, true]);
  });

  it('keeps the family over several rotations', async () => {
    const first = await mint(key());
    const second = await mint(key({ replaces: first.id }));
    const third = await mint(key({ replaces: second.id, overlapSeconds: 60 }));
    expect([second.familyId, third.familyId]).toEqual([first.id, first.id]);
    expect((await mint(key())).familyId).not.toBe(first.id);
  });

  it('shows as its end the earliest of expiry, end of the overlap and revocation', async () => {
    const endOf = async (id: string) => (await keys.list('acme', { limit: 10 })).find((one) => one.id === id)?.endsAt;
    const at = (ms: number) => new Date(clock.now() + ms);
    const forever = await mint(key());
    expect(await endOf(forever.id)).toBeNull();
    const young = await mint(key({ replaces: forever.id, overlapSeconds: 60, expiresAt: at(30_000) }));
    expect([await endOf(forever.id), await endOf(young.id)]).toEqual([at(60_000), at(30_000)]);
    await mint(key({ replaces: young.id, overlapSeconds: 60 }));
    expect(await endOf(young.id)).toEqual(at(30_000));
    await keys.revoke('acme', young.id, sql);
    expect(await endOf(young.id)).toEqual(at(0));
    expect([await isLive(forever.id), await isLive(young.id)]).toEqual([true, false]);
    clock.advance(60_000);
    expect(await isLive(forever.id)).toBe(false);
  });

  it('replaces a key once, also after its overlap', async () => {
    for (const overlapSeconds of [0, 60]) {
      const old = await mint(key());
      await mint(key({ replaces: old.id, overlapSeconds }));
      expect(await codeOf(mint(key({ replaces: old.id })))).toBe('ALREADY_EXISTS');
    }
  });

  it('replaces a key once under concurrency', async () => {
    const old = await mint(key());
    const tries = Array.from({ length: 6 }, () => codeOf(mint(key({ replaces: old.id, overlapSeconds: 60 }))));
    const codes = await Promise.all(tries);
    expect(codes.sort()).toEqual([...Array<string>(5).fill('ALREADY_EXISTS'), 'undefined']);
    expect(await keys.countLive('acme')).toBe(2);
  });

  it('replaces only a live key of the same owner', async () => {
    const foreign = await mint(key({ ownerId: 'other' }));
    const revoked = await mint(key());
    await keys.revoke('acme', revoked.id, sql);
    const expired = await mint(key({ expiresAt: new Date(clock.now() + 1_000) }));
    clock.advance(1_000);
    for (const replaces of ['key_999999', '', foreign.id, revoked.id, expired.id]) {
      expect(await codeOf(mint(key({ replaces })))).toBe('NOT_FOUND');
    }
    expect(await isLive(foreign.id)).toBe(true);
  });
});

describe('the condition of a live key', () => {
  it('is what readers tell from the times that lists show', async () => {
    const times = [null, -60_000, -1, 0, 1, 60_000];
    const rows = times.flatMap((expires) =>
      times.flatMap((overlap) => times.map((revoked) => [expires, overlap, revoked])),
    );
    const at = (ms: number | null | undefined) => (ms == null ? null : new Date(clock.now() + ms));
    const columns = [0, 1, 2].map((column) => rows.map((row) => at(row[column])));
    await sql.query({
      text: `INSERT INTO desk.api_keys (id, owner_id, family_id, label, key_prefix, key_hash, grants, created_at, expires_at,
          overlap_until, revoked_at)
        SELECT 'k' || n, 'acme', 'f', 'l', 'p', sha256(('k' || n)::bytea), '{}', $1, e, o, r
          FROM unnest($2::timestamptz[], $3::timestamptz[], $4::timestamptz[]) WITH ORDINALITY u (e, o, r, n)`,
      values: [new Date(clock.now()), ...columns],
    });
    const live = await sql.query<{ id: string }>({
      text: `SELECT id FROM desk.api_keys k WHERE ${liveKeyCondition('k', '$1')}`,
      values: [new Date(clock.now())],
    });
    const listed = await keys.list('acme', { limit: 1000 });
    expect(listed).toHaveLength(216);
    const text = (time: Date | null) => time?.toISOString() ?? null;
    const valid = listed.filter(({ endsAt, revokedAt }) =>
      isKeyValid({ endsAt: text(endsAt), revokedAt: text(revokedAt) }, clock.now()),
    );
    expect(valid).toHaveLength(9); // Not revoked, and neither end has come.
    expect(valid.map(({ id }) => id).sort()).toEqual(live.map(({ id }) => id).sort());
    expect(await keys.countLive('acme')).toBe(9);
  });
});

describe('revoke', () => {
  it('ends one key of a family only', async () => {
    const old = await mint(key());
    const young = await mint(key({ replaces: old.id, overlapSeconds: 60 }));
    expect(await keys.revoke('acme', young.id, sql)).toBe('revoked');
    expect([await isLive(old.id), await isLive(young.id)]).toEqual([true, false]);
    expect(await keys.revoke('acme', old.id, sql)).toBe('revoked');
    expect(await keys.countLive('acme')).toBe(0);
  });

  it('keeps the first revocation time, and reports a missing key', async () => {
    const { id } = await mint(key());
    expect(await keys.revoke('other', id, sql)).toBe('missing');
    expect(await isLive(id)).toBe(true);
    expect(await keys.revoke('acme', id, sql)).toBe('revoked');
    clock.advance(5_000);
    expect(await keys.revoke('acme', id, sql)).toBe('already');
    expect((await keys.get('acme', id))?.revokedAt).toEqual(new Date('2026-01-01T00:00:00.000Z'));
    expect(await keys.revoke('acme', 'key_999999', sql)).toBe('missing');
  });

  it('takes effect on a replica whose clock is behind', async () => {
    const { id } = await mint(key());
    await keys.revoke('acme', id, sql);
    clock.advance(-60_000);
    expect(await isLive(id)).toBe(false);
  });
});

describe('expiry', () => {
  it('takes effect at the exact millisecond', async () => {
    const { id } = await mint(key({ expiresAt: new Date(clock.now() + 1_000) }));
    clock.advance(999);
    expect(await isLive(id)).toBe(true);
    clock.advance(1);
    expect(await isLive(id)).toBe(false);
  });
});

describe('list', () => {
  it('holds live keys and those that ended in the last 30 days', async () => {
    const revoked = await mint(key({ label: 'revoked' }));
    await keys.revoke('acme', revoked.id, sql);
    await mint(key({ label: 'expires', expiresAt: new Date(clock.now() + DAY_MS) }));
    const old = await mint(key({ label: 'replaced' }));
    await mint(key({ label: 'live', replaces: old.id, overlapSeconds: 2 * 86_400 }));
    await mint(key({ label: 'far', expiresAt: new Date(clock.now() + 1_000 * DAY_MS) }));
    await mint(key({ ownerId: 'other', label: "another owner's" }));
    expect(await labels()).toEqual(['far', 'live', 'replaced', 'expires', 'revoked']);
    clock.advance(30 * DAY_MS);
    expect(await labels()).toEqual(['far', 'live', 'replaced', 'expires']);
    clock.advance(DAY_MS);
    expect(await labels()).toEqual(['far', 'live', 'replaced']);
    clock.advance(DAY_MS);
    expect(await labels()).toEqual(['far', 'live']);
    expect(await keys.get('acme', revoked.id)).toMatchObject({ label: 'revoked' });
  });

  it('pages without gaps or duplicates, also within a millisecond', async () => {
    for (let count = 1; count <= 7; count += 1) {
      await mint(key({ label: String(count) }));
      if (count % 3 === 0) clock.advance(1);
    }
    const seen: string[] = [];
    let page = await keys.list('acme', { limit: 2 });
    while (page.length > 0) {
      seen.push(...page.map(({ label }) => label));
      const { createdAt, id } = page.at(-1)!;
      page = await keys.list('acme', { limit: 2, after: [createdAt.toISOString(), id] });
    }
    expect(seen).toEqual(['7', '6', '5', '4', '3', '2', '1']);
  });

  it("does not find another owner's key", async () => {
    const { id } = await mint(key());
    expect(await keys.get('other', id)).toBeUndefined();
    expect(await keys.list('other', { limit: 10 })).toEqual([]);
  });
});

describe('the look-up of a key', () => {
  it('is one probe of the hash index', async () => {
    const text = `EXPLAIN (FORMAT JSON) SELECT id FROM desk.api_keys k
      WHERE key_hash = ANY ('{"\\\\x00"}'::bytea[]) AND ${liveKeyCondition('k', 'now()')}`;
    const plan = await sql.transaction(async (transaction) => {
      await transaction.query({ text: 'SET LOCAL enable_seqscan = off' });
      return transaction.query({ text });
    });
    expect(JSON.stringify(plan)).toContain('api_keys_key_hash');
  });
});
