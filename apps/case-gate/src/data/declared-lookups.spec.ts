import { describe, expect, it } from '@jest/globals';
import { DatabaseUnavailableError } from '@sealgate/storage';
import { at, eligible, entry, keyHash, lookups, named, silent } from '../../test/fake-lookups.ts';
import type { LedgerWitness } from './ledger-versions.ts';

describe('after a declared loss a record that would allow entry', () => {
  const kept = (ms: number) => [{ epoch: 1, keptAtMs: at.getTime() + ms }];
  const confirmed = async ({ find }: ReturnType<typeof lookups>) => {
    const [found] = (await find(keyHash, [entry], 50))?.found ?? [];
    return (found as { isConfirmed: boolean }).isConfirmed;
  };

  it('must be in the ledger if it did not change since, and is asked about exactly once more', async () => {
    let losses: ReturnType<typeof kept> = [];
    const heard: string[][] = [];
    let missing = true;
    const witness: LedgerWitness = {
      ...silent,
      async missing(records) {
        heard.push(named(records));
        return new Set(missing ? records : []);
      },
    };
    const made = lookups(async () => [eligible(1)], { witness, losses: async () => losses });
    expect(await confirmed(made)).toBe(true);
    losses = kept(0);
    expect(await confirmed(made)).toBe(false);
    missing = false;
    expect(await confirmed(made)).toBe(true);
    const asked = heard.length;
    expect(heard).toEqual([[], ['eligibility live subj_a 2'], ['eligibility live subj_a 2']]);
    // Still one statement.
    const statements = made.asked.length;
    expect(await confirmed(made)).toBe(true);
    expect([heard.length - asked, made.asked.length - statements]).toEqual([0, 1]);
  });

  it('is denied without a question if it changed since', async () => {
    const missing = async () => Promise.reject(new Error('nobody asks'));
    const made = lookups(async () => [eligible(1)], {
      witness: { ...silent, missing: async (records) => (records.length === 0 ? new Set() : missing()) },
      losses: async () => kept(-1),
    });
    expect(await confirmed(made)).toBe(false);
  });

  it('is refused if the declarations cannot be read, which a key without entries does not need', async () => {
    const losses = async () => Promise.reject(new DatabaseUnavailableError('away', { sent: true }));
    const { find } = lookups(async () => [eligible(1)], { losses });
    await expect(find(keyHash, [entry], 50)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect((await find(keyHash, [], 50))?.keyId).toBe('key_1');
  });
});
