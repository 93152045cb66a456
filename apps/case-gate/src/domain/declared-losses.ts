import type { EligibilityRecord, LossReview, UnconfirmedCause } from './eligibility-record.ts';

/** Signed ledger records that are missing and were declared lost. The channel continues in a new epoch without them. */
export interface DeclaredLoss {
  /** The epoch begun by the declaration; 1 for the first. */
  readonly epoch: number;
  /** Time of the newest record that was kept: whatever happened later may be lost. 0: no record is left. */
  readonly keptAtMs: number;
}

/** The newest epoch; 0 if nothing was declared lost. */
export function newestEpoch(losses: readonly DeclaredLoss[]): number {
  return losses.reduce((newest, { epoch }) => Math.max(newest, epoch), 0);
}

interface LossStanding {
  /** For the next version of the record; undefined if nothing was declared lost. */
  readonly review: LossReview | undefined;
  /** The review is valid only if the ledger holds this version of the record; see `notInLedger`. */
  readonly mustBeHeld: boolean;
}

/**
 * The standing of a record under the declared losses. A record that changed after the newest kept ledger record is
 * unconfirmed, as is one that was unconfirmed before. An older one is valid if the ledger holds it.
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
  // An invalid date (NaN) counts as later.
  const isOlder = later.every(({ keptAtMs }) => Date.parse(changedAt) <= keptAtMs);
  return isOlder
    ? { review: { epoch, unconfirmed: null }, mustBeHeld: true }
    : { review: { epoch, unconfirmed: 'changed_since' }, mustBeHeld: false };
}

/** The standing of a record that the ledger had to hold and does not. */
export function notInLedger({ review }: LossStanding): LossStanding {
  return { review: unconfirmedBy(review?.epoch ?? 0, 'not_in_ledger'), mustBeHeld: false };
}

function unconfirmedBy(epoch: number, unconfirmed: UnconfirmedCause): LossReview {
  return { epoch, unconfirmed };
}

/** For the first record of a subject, which was made after all these declarations. */
export function reviewOfNew(losses: readonly DeclaredLoss[]): LossReview | undefined {
  const epoch = newestEpoch(losses);
  return epoch === 0 ? undefined : { epoch, unconfirmed: null };
}
