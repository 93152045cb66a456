import { describe, expect, it } from '@jest/globals';
import { ServerSecrets } from '@sealgate/auth';
import { DatabaseUnavailableError, type Sql, type Statement } from '@sealgate/storage';
import { rowOf, type EligibilityRecord } from '../domain/eligibility-record.ts';
import { signGrants } from '../domain/key-grants.ts';
import { venueMac } from '../domain/venue-record.ts';
import { callerLookups, type CallerLookupsOptions } from './caller-lookups.ts';
import { seenVersions } from './seen-versions.ts';

const secrets = ServerSecrets.parse(`s1:${'k'.repeat(32)}`);
const macs = { eligibility: secrets.derive('e'), venues: secrets.derive('v'), keys: secrets.derive('k') };
const at = new Date('2026-01-01T00:00:00.000Z');
const keyHash = Buffer.alloc(32, 7);
const identity = {
  id: 'key_1',
  environment: 'live',
  familyId: 'key_1',
  label: 'door',
  keyPrefix: 'gk_aaaaaaaaa',
  keyHash,
  createdAt: at,
  expiresAt: null,
  replaces: null,
};
const venue = {
  environment: 'live',
  venueId: 'hall',
  name: 'Hall',
  active: true,
  recordVersion: 1,
  createdAt: at,
  updatedAt: at,
};
const record = (version: number): EligibilityRecord => ({
  v: 1,
  environment: 'live',
  subject_ref: 'subj_a',
  record_version: version,
  current: null,
  suspension: null,
  revocation: null,
  changed_at: at.toISOString(),
});
const entry = { subjectRef: 'subj_a', venueId: 'hall' };

/** A row as the one statement gives it. */
function row(ord: number, version: number, change: object = {}) {
  const stored = rowOf(record(version), macs.eligibility);
  return {
    ord: String(ord),
    is_standby: false,
    key_hash: keyHash,
    id: identity.id,
    owner_id: 'live',
    family_id: identity.familyId,
    label: identity.label,
    key_prefix: identity.keyPrefix,
    grants: signGrants(identity, { scopes: ['gate:check'] }, macs.keys),
    created_at: at,
    expires_at: null,
    replaces: null,
    ...stored,
    newest_version: version,
    venue_id: 'hall',
    venue_name: venue.name,
    venue_active: venue.active,
    venue_version: venue.recordVersion,
    venue_created_at: at,
    venue_updated_at: at,
    venue_mac: venueMac(venue, macs.venues),
    ...change,
  };
}

type Answer = (asked: number, statement: Statement) => Promise<object[]>;

function lookups(answer: Answer, more: Partial<CallerLookupsOptions> = {}) {
  const asked: Statement[] = [];
  const corrupt: string[] = [];
  // Stands in for the database, so that it can give answers that a sound one does not.
  const sql: Sql = { query: (statement) => answer(asked.push(statement) - 1, statement) as Promise<never[]> };
  const made = callerLookups({
    sql,
    macs,
    seen: seenVersions(10),
    now: () => at.getTime(),
    deadlineMs: 100,
    onCorrupt: (what) => corrupt.push(what),
    ...more,
  });
  return { ...made, asked, corrupt };
}

const unavailable = expect.objectContaining({ code: 'UNAVAILABLE', retryAfterSeconds: 1 });

describe('the look-up of callers and entries', () => {
  it('is one statement for all that is asked in one turn', async () => {
    const { find, asked } = lookups(async () => [row(1, 1), row(2, 1), row(3, 1)]);
    const [one, two] = await Promise.all([find(keyHash, [entry, entry], 50), find(keyHash, [entry], 50)]);
    expect(asked).toHaveLength(1);
    expect(asked[0]?.values?.slice(0, 3)).toEqual([
      [keyHash, keyHash, keyHash],
      ['subj_a', 'subj_a', 'subj_a'],
      ['hall', 'hall', 'hall'],
    ]);
    expect(one).toMatchObject({
      keyId: 'key_1',
      environment: 'live',
      scopes: ['gate:check'],
      found: [{ isIntact: true }, {}],
    });
    expect(two?.found).toMatchObject([{ isIntact: true, venue: { active: true }, record: { record_version: 1 } }]);
  });

  it('says that nobody answers, and never that there is no such key, where nobody answers', async () => {
    const away = lookups(async () => Promise.reject(new DatabaseUnavailableError('away', { sent: true })));
    await expect(away.find(keyHash, [entry], 50)).rejects.toEqual(unavailable);
    const silent = lookups(() => new Promise(() => undefined));
    const startedMs = performance.now();
    await expect(silent.find(keyHash, [entry], 50)).rejects.toEqual(unavailable);
    expect(performance.now() - startedMs).toBeLessThan(1000);
    await expect(lookups(async () => []).find(keyHash, [entry], 50)).resolves.toBeUndefined();
  });

  it('does not believe a standby, which may not have heard of a revocation', async () => {
    const { find } = lookups(async () => [row(1, 1, { is_standby: true })]);
    await expect(find(keyHash, [entry], 50)).rejects.toEqual(unavailable);
  });

  it('looks up the key alone where too many entries wait', async () => {
    const { find, asked } = lookups(
      async (_, { values }) => (values?.[1] as unknown[]).map((_each, index) => row(index + 1, 1)),
      {
        mostEntries: 1,
      },
    );
    const [first, second] = await Promise.all([find(keyHash, [entry], 50), find(keyHash, [entry, entry], 50)]);
    expect(first?.found).toMatchObject([{ isIntact: true }]);
    expect(second?.found).toEqual(['overloaded', 'overloaded']);
    expect(asked[0]?.values?.[1]).toEqual(['subj_a', null]);
    expect((await find(keyHash, [entry], 50))?.found).toMatchObject([{ isIntact: true }]);
  });

  it('lets nobody in where a row did not come back', async () => {
    const { find } = lookups(async () => [row(1, 1)]);
    expect((await find(keyHash, [entry, entry], 50))?.found).toMatchObject([{ isIntact: true }, { isIntact: false }]);
  });

  it('knows a record that was put back by the version it has seen, and not one that an older question crossed', async () => {
    const versions = [3, 2];
    const { find, corrupt } = lookups(async (asked) => [row(1, versions[asked] ?? 3)]);
    expect((await find(keyHash, [entry], 50))?.found).toMatchObject([{ isIntact: true }]);
    expect((await find(keyHash, [entry], 50))?.found).toMatchObject([{ isIntact: false }]);
    expect(corrupt).toEqual(['subject subj_a']);

    const release: (() => void)[] = [];
    const crossing = lookups((asked) =>
      asked === 0 ? new Promise((resolve) => release.push(() => resolve([row(1, 2)]))) : Promise.resolve([row(1, 3)]),
    );
    const slow = crossing.find(keyHash, [entry], 1000);
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    expect((await crossing.find(keyHash, [entry], 1000))?.found).toMatchObject([{ record: { record_version: 3 } }]);
    release[0]?.();
    expect((await slow)?.found).toMatchObject([{ isIntact: true, record: { record_version: 2 } }]);
    expect(crossing.corrupt).toEqual([]);
  });

  it('refuses a key that is not as it was minted', async () => {
    const { find, corrupt } = lookups(async () => [row(1, 1, { label: 'other' })]);
    await expect(find(keyHash, [entry], 50)).resolves.toBeUndefined();
    expect(corrupt).toEqual(['key key_1']);
  });
});

describe('the versions that were seen', () => {
  it('are bounded, and only ever rise', () => {
    const seen = seenVersions(2);
    seen.see('a', 2);
    seen.see('a', 1);
    const mark = seen.mark();
    expect(seen.highestBefore(mark, 'a')).toBe(2);
    seen.see('b', 1);
    seen.see('c', 1);
    const later = seen.mark();
    expect(['a', 'b', 'c'].map((name) => seen.highestBefore(later, name))).toEqual([0, 1, 1]);
  });
});
