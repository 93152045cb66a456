import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { liveKeyCondition } from '@sealgate/api-keys';
import { LedgerUnavailableError } from '@sealgate/ledger-port';
import { byteaArray, DatabaseUnavailableError, textArray } from '@sealgate/storage';
import { at, eligible, entry, identity, keyHash, lookups, macs, named, row, silent } from '../../test/fake-lookups.ts';
import { signedGrants } from '../domain/key.ts';
import type { VersionedRecord } from '../domain/versioned-record.ts';
import { knownRows } from './verified-rows.ts';
import { type LedgerWitness, seenVersions } from './ledger-versions.ts';

const unavailable = expect.objectContaining({ code: 'UNAVAILABLE', retryAfterSeconds: 1 });

describe('the look-up of callers and entries', () => {
  it('is one statement for all look-ups of one turn', async () => {
    const once = {
      id: null,
      key_hash: null,
      venue_mac: null,
      venue_name: null,
      venue_active: null,
      venue_version: null,
    };
    const { find, asked } = lookups(async () => [row(1, 1), row(2, 1, once), row(3, 1, once)]);
    const [one, two] = await Promise.all([find(keyHash, [entry, entry], 50), find(keyHash, [entry], 50)]);
    expect(asked).toHaveLength(1);
    // The columns of the key and of the venue are requested once.
    expect(asked[0]?.values?.slice(0, 4)).toEqual([
      byteaArray([keyHash, keyHash, keyHash]),
      [true, false, false],
      textArray(['subj_a', 'subj_a', 'subj_a']),
      textArray(['hall', null, null]),
    ]);
    expect(one).toMatchObject({
      keyId: 'key_1',
      environment: 'live',
      scopes: ['gate:check'],
      found: [{ isIntact: true }, {}],
    });
    expect(two?.found).toMatchObject([{ isIntact: true, venue: { active: true }, record: { record_version: 1 } }]);
  });

  it('reports an unavailable database as such, never as a missing key', async () => {
    const away = lookups(async () => Promise.reject(new DatabaseUnavailableError('away', { sent: true })));
    await expect(away.find(keyHash, [entry], 50)).rejects.toEqual(unavailable);
    const silent = lookups(() => new Promise(() => undefined));
    const startedMs = performance.now();
    await expect(silent.find(keyHash, [entry], 50)).rejects.toEqual(unavailable);
    expect(performance.now() - startedMs).toBeLessThan(1000);
    await expect(lookups(async () => []).find(keyHash, [entry], 50)).resolves.toBeUndefined();
  });

  it('refuses answers of a standby, which may lag behind a revocation', async () => {
    const { find } = lookups(async () => [row(1, 1, { is_standby: true })]);
    await expect(find(keyHash, [entry], 50)).rejects.toEqual(unavailable);
  });

  it('looks up only the key where too many entries are queued', async () => {
    const { find, asked } = lookups(
      async (_, { values }) => (values?.[1] as unknown[]).map((_each, index) => row(index + 1, 1)),
      {
        maxEntries: 1,
      },
    );
    const [first, second] = await Promise.all([find(keyHash, [entry], 50), find(keyHash, [entry, entry], 50)]);
    expect(first?.found).toMatchObject([{ isIntact: true }]);
    expect(second?.found).toEqual(['overloaded', 'overloaded']);
    expect(asked[0]?.values?.[2]).toEqual(textArray(['subj_a', null]));
    expect((await find(keyHash, [entry], 50))?.found).toMatchObject([{ isIntact: true }]);
  });

  it('denies where a row is missing from the answer', async () => {
    const { find } = lookups(async () => [row(1, 1)]);
    expect((await find(keyHash, [entry, entry], 50))?.found).toMatchObject([{ isIntact: true }, { isIntact: false }]);
  });

  it('detects a rollback by the version it has seen, but accepts an older answer that crossed a later question', async () => {
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

  it('refuses a forged key', async () => {
    const { find, corrupt } = lookups(async () => [row(1, 1, { label: 'other' })]);
    await expect(find(keyHash, [entry], 50)).resolves.toBeUndefined();
    expect(corrupt).toEqual(['key key_1']);
  });

  it.each<[string, object]>([
    ['label', { label: 'other' }],
    ['owner', { owner_id: 'test' }],
    ['family', { family_id: 'key_2' }],
    ['prefix', { key_prefix: 'gk_bbbbbbbbb' }],
    ['predecessor', { replaces: 'key_0' }],
    ['birth', { created_at: new Date(at.getTime() + 1) }],
    ['end', { expires_at: at }],
    ['end of its overlap', { overlap_until: at }],
    ['hash', { key_hash: Buffer.alloc(32, 8) }],
    ['grants', { grants: JSON.stringify({ scopes: ['gate:check', 'case:write'], mac: 's1:AA' }) }],
  ])('also verifies a row with the id of a good key in the same answer, and another %s', async (_, change) => {
    const { find, corrupt } = lookups(async () => [row(1, 1), row(2, 1, change), row(3, 1)]);
    const other = Buffer.alloc(32, 9);
    const callers = await Promise.all([keyHash, other, keyHash].map((hash) => find(hash, [entry], 50)));
    expect(callers.map((caller) => caller?.keyId)).toEqual(['key_1', undefined, 'key_1']);
    expect(corrupt).toEqual(['key key_1']);
  });
});

describe('a record that would allow entry', () => {
  it('is checked by the ledger with its venue and key, all of a turn together, and no other record is', async () => {
    const heard: VersionedRecord[][] = [];
    const witness: LedgerWitness = {
      ...silent,
      async contradicted(records) {
        heard.push([...records]);
        // Only the last subject.
        return new Set(records.filter(({ type }) => type === 'eligibility.record').slice(1));
      },
    };
    const { find, corrupt } = lookups(async () => [eligible(1), row(2, 1, { status: 'eligible' }), eligible(3)], {
      witness,
    });
    const [one, two] = await Promise.all([find(keyHash, [entry, entry], 50), find(keyHash, [entry], 50)]);
    const asked = ['key key_1 1', 'venue live hall 1', 'eligibility live subj_a 2', 'eligibility live subj_a 2'];
    expect(heard.map(named)).toEqual([asked]);
    expect(heard[0]?.[2]?.data).toBe(eligible(1).document);
    expect(one?.found).toMatchObject([{ isIntact: true, record: { record_version: 2 } }, { isIntact: false }]);
    expect(two?.found).toEqual([{ isIntact: false, isConfirmed: false, record: undefined, venue: undefined }]);
    expect(corrupt).toEqual(['subject subj_a', 'eligibility live subj_a']);
  });

  it('is refused for everybody who asks about a venue that the ledger contradicts', async () => {
    const contradicted: LedgerWitness['contradicted'] = async (records) =>
      new Set(records.filter(({ type }) => type === 'venue.record'));
    const { find, corrupt } = lookups(async () => [eligible(1), eligible(2)], { witness: { ...silent, contradicted } });
    const callers = await Promise.all([find(keyHash, [entry], 50), find(keyHash, [entry], 50)]);
    for (const caller of callers) expect(caller?.found).toMatchObject([{ isIntact: false }]);
    expect(corrupt).toEqual(['venue live hall']);
  });

  it('is refused, with its key, where the ledger does not answer', async () => {
    const contradicted = async () => Promise.reject(new LedgerUnavailableError('away'));
    const { find } = lookups(async () => [eligible(1)], { witness: { ...silent, contradicted } });
    await expect(find(keyHash, [entry], 50)).rejects.toEqual(unavailable);
  });

  it('is asked about once, then within the look-up statement while every column stays the same', async () => {
    const heard: string[][] = [];
    const witness: LedgerWitness = {
      ...silent,
      async contradicted(records) {
        heard.push(named(records));
        return new Set();
      },
    };
    let answer = [eligible(1)];
    const { find, asked, corrupt } = lookups(async () => answer, { witness });
    const sent = () => asked.at(-1)?.values?.[6] as Buffer;
    await find(keyHash, [entry], 50);
    expect(heard).toEqual([['key key_1 1', 'venue live hall 1', 'eligibility live subj_a 2']]);
    expect(sent().includes('subj_a')).toBe(false);
    expect((await find(keyHash, [entry], 50))?.found).toMatchObject([
      { isIntact: true, record: { record_version: 2 } },
    ]);
    expect(heard).toHaveLength(1);
    const later = ['eligibility live subj_a 3', 'venue live hall 2', 'key key_1 2'];
    for (const id of later) expect(sent().includes(id)).toBe(true);
    // Another text under the same MAC is corrupt.
    answer = [{ ...eligible(1), document: eligible(1).document.replace('hall', 'pier') }];
    expect((await find(keyHash, [entry], 50))?.found).toMatchObject([{ isIntact: false }]);
    expect(corrupt).toEqual(['subject subj_a']);
  });

  it.each([
    ['subject', 'eligibility live subj_a 3', 'subject subj_a'],
    ['venue', 'venue live hall 2', 'venue hall'],
    ['key', 'key key_1 2', 'key key_1'],
  ])('is denied permanently once the ledger holds a later version of its %s', async (what, id, told) => {
    let held: string[] | null = null;
    const { find, corrupt } = lookups(async () => [{ ...eligible(1), held }]);
    await find(keyHash, [entry], 50);
    held = [id];
    const isDenied = async () => {
      const caller = await find(keyHash, [entry], 50);
      return what === 'key' ? caller === undefined : (caller?.found[0] as { isIntact: boolean }).isIntact === false;
    };
    expect(await isDenied()).toBe(true);
    // By what it has seen, even if the statement no longer asks the ledger.
    held = null;
    expect(await isDenied()).toBe(true);
    expect(corrupt).toEqual([told, told]);
  });
});

describe('a subject unknown to the process, with a known key,', () => {
  /** A process that knows the key, and what it has asked the ledger about since. */
  async function knowingTheKey(answer: () => object[], more: Parameters<typeof lookups>[1] = {}) {
    const heard: string[][] = [];
    const contradicted: LedgerWitness['contradicted'] = async (records) => {
      heard.push(named(records));
      return new Set();
    };
    const made = lookups(async () => answer(), { witness: { ...silent, contradicted }, ...more });
    await made.find(keyHash, [], 50);
    heard.length = 0;
    const find = async () => (await made.find(keyHash, [entry], 50))?.found[0];
    const sent = (at: number) => made.asked.at(-1)?.values?.[at] as Buffer;
    return { ...made, find, heard, sent };
  }

  it('is checked within the look-up statement, at the usual version', async () => {
    const { find, heard, sent } = await knowingTheKey(() => [eligible(1)]);
    expect(await find()).toMatchObject({ isIntact: true, isConfirmed: true, record: { record_version: 2 } });
    // Only the venue is new.
    expect(heard).toEqual([['venue live hall 1']]);
    expect(sent(10)).toEqual(textArray(['eligibility live subj_a 2']));
    expect(sent(6).includes('eligibility live subj_a 3')).toBe(true);
    expect(await find()).toMatchObject({ isIntact: true });
    expect([heard.length, sent(10)]).toEqual([1, textArray([])]);
  });

  it.each<[string, object]>([
    ['holds something else under one of those versions', { conflict: 'some id' }],
    ['holds a version after it', { held: ['eligibility live subj_a 3'] }],
  ])('is checked by the ledger with its content where that %s', async (_, said) => {
    const contradicted: LedgerWitness['contradicted'] = async (records) =>
      new Set(records.filter(({ type }) => type === 'eligibility.record'));
    const { find, corrupt } = await knowingTheKey(() => [{ ...eligible(1), ...said }], {
      witness: { ...silent, contradicted },
    });
    expect(await find()).toMatchObject({ isIntact: false });
    expect(corrupt).toEqual(['eligibility live subj_a']);
  });

  it('is checked by the ledger if it is at another version, which is then expected from then on', async () => {
    const seen = seenVersions(10);
    const known = knownRows(10);
    const { find, heard, sent } = await knowingTheKey(() => [eligible(1, 5)], { seen, known });
    expect(await find()).toMatchObject({ isIntact: true });
    expect(heard).toEqual([['venue live hall 1', 'eligibility live subj_a 5']]);
    known.subjects.clear();
    expect(await find()).toMatchObject({ isIntact: true });
    expect([heard.length, sent(10)]).toEqual([1, textArray(['eligibility live subj_a 5'])]);
  });

  it('is checked by the ledger if it must hold the record since a declared loss', async () => {
    const missing: LedgerWitness['missing'] = async (records) => new Set(records);
    const losses = async () => [{ epoch: 1, keptAtMs: at.getTime() }];
    const { find } = await knowingTheKey(() => [eligible(1)], { losses, witness: { ...silent, missing } });
    expect(await find()).toMatchObject({ isIntact: true, isConfirmed: false });
  });

  it('does not use what was known of it in the former environment of the key', async () => {
    let moved = {};
    const { find } = await knowingTheKey(() => [{ ...eligible(1), ...moved }]);
    expect(await find()).toMatchObject({ isIntact: true });
    const key = { ...identity, environment: 'test', record_version: 2 };
    moved = { owner_id: 'test', grants: JSON.stringify(signedGrants(key, macs.keys)) };
    expect(await find()).toMatchObject({ isIntact: false });
  });
});

it('the look-up function uses the shared condition of a live key', () => {
  const file = join(import.meta.dirname, '../../prisma/migrations/0001_gate.sql');
  expect(readFileSync(file, 'utf8').replaceAll(/\s+/g, ' ')).toContain(liveKeyCondition('k', 'at_time'));
});
