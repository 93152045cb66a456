import { describe, expect, it } from '@jest/globals';
import { ServerSecrets } from '@sealgate/auth';
import { LedgerUnavailableError, type AppendUnit } from '@sealgate/ledger-port';
import type { DeclaredLoss } from '../domain/declared-losses.ts';
import { versionIds, type VersionedRecord } from '../domain/versioned-record.ts';
import { ledgerWitness, lossWatch, seenVersions, type LedgerWitnessOptions } from './ledger-versions.ts';

const oldSecret = `old:${'o'.repeat(32)}`;
const ofOld = ServerSecrets.parse(oldSecret).derive('ids');
const ofBoth = ServerSecrets.parse(`new:${'n'.repeat(32)},${oldSecret}`).derive('ids');
const target = { network: 'gate', channel: 'gate.seals' };
const nameOf = (subjectRef: string) => ['eligibility', 'live', subjectRef];
const version = (subjectRef: string, of = 2, data = `{"of":"${subjectRef}"}`): VersionedRecord => ({
  name: nameOf(subjectRef),
  type: 'eligibility.record',
  version: of,
  data,
});

/** A ledger with these records: content by id. */
function witnessOf(held: Record<string, string>, more: Partial<LedgerWitnessOptions> = {}) {
  const asked: Pick<AppendUnit, 'channel' | 'records'>[] = [];
  const seen = seenVersions(10);
  const findConflict: LedgerWitnessOptions['findConflict'] = async (unit) => {
    asked.push(unit);
    return unit.records.find(({ id, data }) => held[id] !== undefined && held[id] !== data)?.id;
  };
  const findHeld: LedgerWitnessOptions['findHeld'] = async (ids) => new Set(ids.filter((id) => held[id] !== undefined));
  const witness = ledgerWitness({ findConflict, findHeld, target, recordIds: ofBoth, seen, ...more });
  const highest = (subjectRef: string) => seen.highestBefore(seen.mark(), nameOf(subjectRef).join(' '));
  return { witness, asked, highest };
}

const idOf = (subjectRef: string, of: number, hasher = ofBoth) => versionIds(hasher, nameOf(subjectRef), of)[0]!;

describe('the ledger witness', () => {
  it('accepts the newest version that the ledger holds, and one still on its way to it', async () => {
    const { witness, asked, highest } = witnessOf({ [idOf('subj_a', 2)]: version('subj_a').data });
    expect(await witness.contradicted([version('subj_a'), version('subj_b')])).toEqual(new Set());
    expect(asked).toHaveLength(1);
    expect(asked[0]).toMatchObject(target);
    expect(highest('subj_a')).toBe(0);
  });

  it('contradicts a version if the ledger holds a later one, under the id of any secret', async () => {
    for (const hasher of [ofBoth, ofOld]) {
      const { witness, highest } = witnessOf({ [idOf('subj_a', 3, hasher)]: '{"revoked":true}' });
      const [a, again, b] = [version('subj_a'), version('subj_a'), version('subj_b')];
      expect(await witness.contradicted([a, b, again])).toEqual(new Set([a, again]));
      // Every later look-up finds it older than the seen version.
      expect(highest('subj_a')).toBe(3);
      expect(highest('subj_b')).toBe(0);
      expect(witness.nextIds(a)).toContain(idOf('subj_a', 3, hasher));
    }
  });

  it('contradicts a version if the ledger holds other content under it', async () => {
    const { witness } = witnessOf({ [idOf('subj_a', 2)]: '{"other":1}' });
    const a = version('subj_a');
    expect(await witness.contradicted([a])).toEqual(new Set([a]));
  });

  it('contradicts both of two different rows of one thing', async () => {
    const { witness } = witnessOf({});
    const two = [version('subj_a'), version('subj_a', 2, '{"of":"other"}')];
    expect(await witness.contradicted(two)).toEqual(new Set(two));
  });

  it('contradicts those that there was no time to ask about', async () => {
    const subjects = Array.from({ length: 20 }, (_, number) => version(`subj_${number}`));
    const { witness, asked } = witnessOf(
      Object.fromEntries(subjects.slice(0, 15).map((_, number) => [idOf(`subj_${number}`, 3), '{}'])),
    );
    expect((await witness.contradicted(subjects)).size).toBe(20);
    expect(asked).toHaveLength(8);
  });

  it('throws where the ledger does not answer', async () => {
    const findConflict = async () => Promise.reject(new LedgerUnavailableError('away'));
    const { witness } = witnessOf({}, { findConflict });
    await expect(witness.contradicted([version('subj_a')])).rejects.toThrow(LedgerUnavailableError);
  });
});

describe('seen versions', () => {
  it('are bounded and only increase', () => {
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

const first: DeclaredLoss[] = [{ epoch: 1, keptAtMs: 5 }];

/** A watch whose reads the test answers in any order. */
function watched() {
  let nowMs = 0;
  const answers: { resolve: (losses: DeclaredLoss[]) => void; reject: (error: Error) => void }[] = [];
  const read = () => new Promise<DeclaredLoss[]>((resolve, reject) => void answers.push({ resolve, reject }));
  return { watch: lossWatch(read, () => nowMs), answers, advance: (ms: number) => (nowMs += ms) };
}

describe('the loss watch', () => {
  it('caches for less than a second from the time of the question', async () => {
    const { watch, answers, advance } = watched();
    const one = watch.current();
    advance(600);
    answers[0]!.resolve([]);
    expect(await one).toEqual([]);
    advance(399);
    expect(await watch.current()).toEqual([]);
    expect(answers).toHaveLength(1);
    advance(1);
    const other = watch.current();
    expect(answers).toHaveLength(2);
    answers[1]!.resolve(first);
    expect(await other).toEqual(first);
  });

  it('shares one question among callers, except with those who come more than a second after it', async () => {
    const { watch, answers, advance } = watched();
    const early = [watch.current(), watch.refresh()];
    advance(1000);
    const late = watch.current();
    expect(answers).toHaveLength(2);
    answers[1]!.resolve(first);
    expect(await late).toEqual(first);
    answers[0]!.resolve([]);
    expect(await Promise.all(early)).toEqual([[], []]);
    // The answer to the older question is ignored.
    expect(await watch.current()).toEqual(first);
  });

  it('fails where the losses cannot be read, and asks again', async () => {
    const { watch, answers } = watched();
    const one = watch.current();
    answers[0]!.reject(new Error('away'));
    await expect(one).rejects.toThrow('away');
    const other = watch.current();
    answers[1]!.resolve(first);
    expect(await other).toEqual(first);
  });
});
