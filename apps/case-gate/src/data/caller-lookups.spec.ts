import { describe, expect, it } from '@jest/globals';
import { LedgerUnavailableError } from '@sealgate/ledger-port';
import { DatabaseUnavailableError } from '@sealgate/storage';
import { at, eligible, entry, keyHash, lookups, named, row, silent } from '../../test/stand-in-lookups.ts';
import type { VersionedRecord } from '../domain/versioned-record.ts';
import type { LedgerWitness } from './ledger-witness.ts';

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
  ])('verifies one that has the id of a good one in the same answer, and another %s', async (_, change) => {
    const { find, corrupt } = lookups(async () => [row(1, 1), row(2, 1, change), row(3, 1)]);
    const callers = await Promise.all([1, 2, 3].map(() => find(keyHash, [entry], 50)));
    expect(callers.map((caller) => caller?.keyId)).toEqual(['key_1', undefined, 'key_1']);
    expect(corrupt).toEqual(['key key_1']);
  });
});

describe('a record that would let somebody in', () => {
  it('is put to the ledger with its venue and its key, all of a turn together, and no other is', async () => {
    const heard: VersionedRecord[][] = [];
    const witness: LedgerWitness = {
      ...silent,
      async contradicted(records) {
        heard.push([...records]);
        // The last subject alone.
        return new Set(records.filter(({ type }) => type === 'eligibility.record').slice(1));
      },
    };
    const { find, corrupt } = lookups(async () => [eligible(1), row(2, 1, { venue_active: false }), eligible(3)], {
      witness,
    });
    const [one, two] = await Promise.all([find(keyHash, [entry, entry], 50), find(keyHash, [entry], 50)]);
    const asked = ['eligibility live subj_a 2', 'venue live hall 1', 'key key_1 1'];
    expect(heard.map(named)).toEqual([[...asked, ...asked]]);
    expect(heard[0]?.[0]?.data).toBe(eligible(1).document);
    expect(one?.found).toMatchObject([{ isIntact: true, record: { record_version: 2 } }, { isIntact: false }]);
    expect(two?.found).toEqual([{ isIntact: false, isConfirmed: false, record: undefined, venue: undefined }]);
    expect(corrupt).toEqual(['venue hall', 'eligibility live subj_a']);
  });

  it('opens nothing, nor does its key, where the ledger does not answer', async () => {
    const contradicted = async () => Promise.reject(new LedgerUnavailableError('away'));
    const { find } = lookups(async () => [eligible(1)], { witness: { ...silent, contradicted } });
    await expect(find(keyHash, [entry], 50)).rejects.toEqual(unavailable);
  });

  it('is asked about once, and then in the statement that reads it, while it stays the same in every column', async () => {
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
    const sent = () => asked.at(-1)?.values?.[5] as Buffer;
    await find(keyHash, [entry], 50);
    expect(heard).toEqual([['eligibility live subj_a 2', 'venue live hall 1', 'key key_1 1']]);
    expect(sent().includes('subj_a')).toBe(false);
    expect((await find(keyHash, [entry], 50))?.found).toMatchObject([
      { isIntact: true, record: { record_version: 2 } },
    ]);
    expect(heard).toHaveLength(1);
    const later = ['eligibility live subj_a 3', 'venue live hall 2', 'key key_1 2'];
    for (const id of later) expect(sent().includes(id)).toBe(true);
    // Another text under the same MAC is no record at all.
    answer = [{ ...eligible(1), document: eligible(1).document.replace('hall', 'pier') }];
    expect((await find(keyHash, [entry], 50))?.found).toMatchObject([{ isIntact: false }]);
    expect(corrupt).toEqual(['subject subj_a']);
  });

  it.each([
    ['subject', 'eligibility live subj_a 3', 'subject subj_a'],
    ['venue', 'venue live hall 2', 'venue hall'],
    ['key', 'key key_1 2', 'key key_1'],
  ])('is denied for ever once the ledger holds a later version of its %s', async (what, id, told) => {
    let held: string[] | null = null;
    const { find, corrupt } = lookups(async () => [{ ...eligible(1), held }]);
    await find(keyHash, [entry], 50);
    held = [id];
    const isDenied = async () => {
      const caller = await find(keyHash, [entry], 50);
      return what === 'key' ? caller === undefined : (caller?.found[0] as { isIntact: boolean }).isIntact === false;
    };
    expect(await isDenied()).toBe(true);
    // By what it has seen, also where the statement asked about nothing any more.
    held = null;
    expect(await isDenied()).toBe(true);
    expect(corrupt).toEqual([told, told]);
  });
});
