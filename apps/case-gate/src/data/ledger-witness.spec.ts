import { describe, expect, it } from '@jest/globals';
import { ServerSecrets } from '@sealgate/auth';
import { LedgerUnavailableError, type AppendUnit } from '@sealgate/ledger-port';
import { eligibilityRecordIds } from '../domain/change-eligibility.ts';
import { ledgerWitness, type LedgerWitnessOptions, type Testimony } from './ledger-witness.ts';
import { seenVersions, subjectName } from './seen-versions.ts';

const oldSecret = `old:${'o'.repeat(32)}`;
const ofOld = ServerSecrets.parse(oldSecret).derive('ids');
const ofBoth = ServerSecrets.parse(`new:${'n'.repeat(32)},${oldSecret}`).derive('ids');
const target = { network: 'gate', channel: 'gate.seals' };
const testimony = (subjectRef: string, version = 2, document = `{"of":"${subjectRef}"}`): Testimony => ({
  environment: 'live',
  subjectRef,
  version,
  document,
});

/** A ledger that holds these records: content by id. */
function witnessOf(held: Record<string, string>, more: Partial<LedgerWitnessOptions> = {}) {
  const asked: AppendUnit[] = [];
  const clock = { ms: 0 };
  const seen = seenVersions(10);
  const findConflict = async (unit: AppendUnit) => {
    asked.push(unit);
    return unit.records.find(({ id, data }) => held[id] !== undefined && held[id] !== data)?.id;
  };
  const witness = ledgerWitness({
    ...{ ledger: { findConflict }, target, recordIds: ofBoth, seen, now: () => clock.ms },
    ...more,
  });
  const highest = (subjectRef: string) => seen.highestBefore(seen.mark(), subjectName('live', subjectRef));
  return { witness, asked, clock, highest };
}

const idOf = (subjectRef: string, version: number, hasher = ofBoth) =>
  eligibilityRecordIds(hasher, { environment: 'live', subjectRef }, version)[0]!;

describe('the ledger, asked about eligibility records,', () => {
  it('contradicts none that is the newest it holds, nor one that is still on its way to it', async () => {
    const { witness, asked, highest } = witnessOf({ [idOf('subj_a', 2)]: testimony('subj_a').document });
    expect(await witness.contradicted([testimony('subj_a'), testimony('subj_b')])).toEqual(new Set());
    expect(asked).toHaveLength(1);
    expect(asked[0]).toMatchObject(target);
    expect(highest('subj_a')).toBe(0);
  });

  it('contradicts one that a later version is held of, by the id of any secret', async () => {
    for (const hasher of [ofBoth, ofOld]) {
      const { witness, highest } = witnessOf({ [idOf('subj_a', 3, hasher)]: '{"revoked":true}' });
      const [a, again, b] = [testimony('subj_a'), testimony('subj_a'), testimony('subj_b')];
      expect(await witness.contradicted([a, b, again])).toEqual(new Set([a, again]));
      // So that every later look-up finds it older than what was seen.
      expect(highest('subj_a')).toBe(3);
      expect(highest('subj_b')).toBe(0);
    }
  });

  it('contradicts one that stands at a version under which other content is held', async () => {
    const { witness } = witnessOf({ [idOf('subj_a', 2)]: '{"other":1}' });
    const a = testimony('subj_a');
    expect(await witness.contradicted([a])).toEqual(new Set([a]));
  });

  it('is no way to tell two records of one subject apart: neither is believed', async () => {
    const { witness } = witnessOf({});
    const two = [testimony('subj_a'), testimony('subj_a', 2, '{"of":"other"}')];
    expect(await witness.contradicted(two)).toEqual(new Set(two));
  });

  it('is asked again once a second for the same record, and at once for another', async () => {
    const held: Record<string, string> = {};
    const { witness, asked, clock } = witnessOf(held);
    const ask = (one = testimony('subj_a')) => witness.contradicted([one]);
    await ask();
    clock.ms = 999;
    await ask();
    expect(asked).toHaveLength(1);
    clock.ms = 1000;
    await ask();
    // What it holds under an id it holds for ever, so that is asked once; of two secrets each has an id of its own.
    expect(asked.map(({ records }) => records.length)).toEqual([4, 2]);
    clock.ms = 1500;
    asked.pop();
    await ask(testimony('subj_a', 2, '{"of":"other"}'));
    expect(asked).toHaveLength(2);
    await ask();
    expect(asked).toHaveLength(3);
    held[idOf('subj_a', 3)] = '{"revoked":true}';
    clock.ms = 2500;
    expect((await ask()).size).toBe(1);
    // What was contradicted is never taken for confirmed.
    expect((await ask()).size).toBe(1);
  });

  it('believes none of those it had no time to be asked about', async () => {
    const subjects = Array.from({ length: 20 }, (_, number) => testimony(`subj_${number}`));
    const { witness, asked } = witnessOf(
      Object.fromEntries(subjects.slice(0, 15).map(({ subjectRef }) => [idOf(subjectRef, 3), '{}'])),
    );
    expect((await witness.contradicted(subjects)).size).toBe(20);
    expect(asked).toHaveLength(8);
  });

  it('confirms nothing where it does not answer', async () => {
    const findConflict = async () => Promise.reject(new LedgerUnavailableError('away'));
    const { witness } = witnessOf({}, { ledger: { findConflict } });
    await expect(witness.contradicted([testimony('subj_a')])).rejects.toThrow(LedgerUnavailableError);
  });
});
