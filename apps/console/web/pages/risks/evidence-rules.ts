import type { RiskSchemas } from './risk-api.ts';
import * as texts from './texts.ts';

export type EvidenceState = RiskSchemas['EvidenceState'];
export type Evidence = RiskSchemas['EvidenceView'];

interface BoardColumn {
  readonly state: EvidenceState;
  /** Who has to act, and how. */
  readonly says: string;
  /** Nobody has to act. */
  readonly isSettled?: true;
}

/** The columns of the board: states that need an action first. */
export const BOARD: readonly BoardColumn[] = [
  { state: 'requested', says: texts.theOwnerCollectsIt },
  { state: 'collected', says: texts.collectorSubmitsIt },
  { state: 'in_review', says: texts.reviewerDecides },
  { state: 'rejected', says: texts.theOwnerCollectsItAgain },
  { state: 'expiring', says: texts.ownerRenewsInTime },
  { state: 'expired', says: texts.ownerRenews },
  { state: 'approved', says: texts.nobodyHasToAct, isSettled: true },
  { state: 'superseded', says: texts.nobodyHasToAct, isSettled: true },
  { state: 'not_applicable', says: texts.nobodyHasToAct, isSettled: true },
  { state: 'revoked', says: texts.nobodyHasToAct, isSettled: true },
];

/** The id of the person who has to act; undefined if it is a role, or nobody. */
export function actorOf(evidence: Evidence): string | undefined {
  switch (evidence.state) {
    case 'requested':
    case 'rejected':
    case 'expiring':
    case 'expired':
      return evidence.ownerId;
    case 'collected':
      return evidence.collectedBy ?? evidence.ownerId;
    default:
      return undefined;
  }
}

/** A transition of evidence. */
export interface Step {
  readonly to: EvidenceState;
  readonly label: string;
  /** The required input. */
  readonly asks: 'nothing' | 'reason' | 'fingerprint';
}

const collect = (label: string): Step => ({ to: 'collected', label, asks: 'fingerprint' });
const revoke: Step = { to: 'revoked', label: texts.revoke, asks: 'reason' };

const STEPS: Readonly<Partial<Record<EvidenceState, readonly Step[]>>> = {
  requested: [collect(texts.collect), { to: 'not_applicable', label: texts.notApplicable, asks: 'nothing' }],
  collected: [{ to: 'in_review', label: texts.submitForReview, asks: 'nothing' }, revoke],
  in_review: [
    { to: 'approved', label: texts.approve, asks: 'nothing' },
    { to: 'rejected', label: texts.reject, asks: 'reason' },
    revoke,
  ],
  rejected: [collect(texts.collectAgain), revoke],
  approved: [collect(texts.collectANewVersion), revoke],
  expiring: [collect(texts.collectANewVersion), revoke],
  expired: [collect(texts.collectANewVersion), revoke],
};

/** The transitions open to this person: a collector does not review their own evidence. */
export function stepsOf(evidence: Pick<Evidence, 'state' | 'collectedBy'>, personId: string): readonly Step[] {
  const isOwnWork = evidence.collectedBy === personId;
  return (STEPS[evidence.state] ?? []).filter(({ to }) => !isOwnWork || (to !== 'approved' && to !== 'rejected'));
}
