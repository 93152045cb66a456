import type { EligibilityRecord, LossReview, UnconfirmedCause } from './eligibility-record.ts';

/** Ledger records that were signed for, are missing, and were declared lost: the channel goes on in a new epoch without them. */
export interface DeclaredLoss {
  /** The epoch that the declaration begins; 1 for the first. */
  readonly epoch: number;
  /** When the newest record before the missing ones was written: whatever happened after it may be lost. 0: nothing is left. */
  readonly keptAtMs: number;
}

/** The newest epoch; 0 while nothing was declared lost. */
export function newestEpoch(losses: readonly DeclaredLoss[]): number {
  return losses.reduce((newest, { epoch }) => Math.max(newest, epoch), 0);
}

export interface LossStanding {
  /** What the next version of the record has to carry; undefined while nothing was declared lost. */
  readonly review: LossReview | undefined;
  /** The review holds only if the ledger has this version of the record; see `notInLedger`. */
  readonly mustBeHeld: boolean;
}

/**
 * How a record stands to the declared losses. One that changed after the newest record that was kept is not believed until
 * it is confirmed, and neither is one that waited for a confirmation before. An older one is believed if the ledger has it.
 */
export function standingOf(
  { loss, changed_at: changedAt }: EligibilityRecord,
  losses: readonly DeclaredLoss[],
): LossStanding {
  const own = loss?.epoch ?? 0;
  const epoch = Math.max(own, newestEpoch(losses));
  if (epoch === 0) return { review: undefined, mustBeHeld: false };
  const later = losses.filter((each) => each.epoch > own);
  const known = loss?.unconfirmed ?? null;
  if (known !== null || later.length === 0) return { review: { epoch, unconfirmed: known }, mustBeHeld: false };
  // Written so that a moment that is none counts as after it.
  const isOlder = later.every(({ keptAtMs }) => Date.parse(changedAt) <= keptAtMs);
  return isOlder
    ? { review: { epoch, unconfirmed: null }, mustBeHeld: true }
    : { review: { epoch, unconfirmed: 'changed_since' }, mustBeHeld: false };
}

/** The standing of a record that had to be in the ledger and is not. */
export function notInLedger({ review }: LossStanding): LossStanding {
  return { review: unconfirmedBy(review?.epoch ?? 0, 'not_in_ledger'), mustBeHeld: false };
}

function unconfirmedBy(epoch: number, unconfirmed: UnconfirmedCause): LossReview {
  return { epoch, unconfirmed };
}

/** What the first record of a subject carries: it was made knowing of all of these. */
export function reviewOfNew(losses: readonly DeclaredLoss[]): LossReview | undefined {
  const epoch = newestEpoch(losses);
  return epoch === 0 ? undefined : { epoch, unconfirmed: null };
}
