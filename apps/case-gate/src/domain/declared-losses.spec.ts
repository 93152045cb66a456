import { describe, expect, it } from '@jest/globals';
import { notInLedger, standingOf } from './declared-losses.ts';
import type { EligibilityRecord, LossReview } from './eligibility-record.ts';

const changedMs = Date.parse('2026-05-01T00:00:00.000Z');
const record = (loss?: LossReview): EligibilityRecord => ({
  v: 1,
  environment: 'live',
  subject_ref: 'subj_a',
  record_version: 2,
  current: null,
  suspension: null,
  revocation: null,
  changed_at: new Date(changedMs).toISOString(),
  loss,
});
const loss = (epoch: number, afterMs: number) => ({ epoch, keptAtMs: changedMs + afterMs });

describe('the standing of a record under declared losses', () => {
  it('is empty without any', () => {
    expect(standingOf(record(), [])).toEqual({ review: undefined, mustBeHeld: false });
  });

  it.each<[string, LossReview | undefined, ReturnType<typeof loss>[], LossReview, boolean]>([
    [
      'it changed at the moment of the newest kept record',
      undefined,
      [loss(1, 0)],
      { epoch: 1, unconfirmed: null },
      true,
    ],
    ['it changed a millisecond later', undefined, [loss(1, -1)], { epoch: 1, unconfirmed: 'changed_since' }, false],
    ['nothing was kept', undefined, [{ epoch: 1, keptAtMs: 0 }], { epoch: 1, unconfirmed: 'changed_since' }, false],
    [
      'it changed since the first of two',
      undefined,
      [loss(1, -1), loss(2, 9)],
      { epoch: 2, unconfirmed: 'changed_since' },
      false,
    ],
    [
      'it changed since the second of two',
      undefined,
      [loss(1, 9), loss(2, -1)],
      { epoch: 2, unconfirmed: 'changed_since' },
      false,
    ],
    [
      'it was made or confirmed knowing of it',
      { epoch: 1, unconfirmed: null },
      [loss(1, -1)],
      { epoch: 1, unconfirmed: null },
      false,
    ],
    [
      'it was confirmed, and changed before the second',
      { epoch: 1, unconfirmed: null },
      [loss(1, -9), loss(2, 0)],
      { epoch: 2, unconfirmed: null },
      true,
    ],
    [
      'it was confirmed since the second',
      { epoch: 1, unconfirmed: null },
      [loss(1, -9), loss(2, -1)],
      { epoch: 2, unconfirmed: 'changed_since' },
      false,
    ],
    [
      'it waited already, and changed before the second',
      { epoch: 1, unconfirmed: 'not_in_ledger' },
      [loss(1, -9), loss(2, 9)],
      { epoch: 2, unconfirmed: 'not_in_ledger' },
      false,
    ],
    [
      'the ledger has lost the declaration that it knew',
      { epoch: 1, unconfirmed: 'changed_since' },
      [],
      { epoch: 1, unconfirmed: 'changed_since' },
      false,
    ],
  ])('where %s', (_, own, losses, review, mustBeHeld) => {
    expect(standingOf(record(own), losses)).toEqual({ review, mustBeHeld });
  });

  it('is unconfirmed if its time is invalid', () => {
    const { review } = standingOf({ ...record(), changed_at: 'never' }, [loss(1, 9)]);
    expect(review).toEqual({ epoch: 1, unconfirmed: 'changed_since' });
  });

  it('is unconfirmed if the ledger had to hold the record and does not', () => {
    const standing = standingOf(record(), [loss(3, 0)]);
    expect(notInLedger(standing)).toEqual({ review: { epoch: 3, unconfirmed: 'not_in_ledger' }, mustBeHeld: false });
  });
});
