import type { RiskSchemas } from './risk-api.ts';

export type EvidenceState = RiskSchemas['EvidenceState'];
export type Evidence = RiskSchemas['EvidenceView'];

/** The columns of the board: states that need an action first. */
export const BOARD: readonly { readonly state: EvidenceState; readonly acts: string; readonly does: string }[] = [
  { state: 'requested', acts: 'The owner', does: 'collects it' },
  { state: 'collected', acts: 'Who collected it', does: 'submits it for review' },
  { state: 'in_review', acts: 'A reviewer who did not collect it', does: 'approves or rejects it' },
  { state: 'rejected', acts: 'The owner', does: 'collects it again' },
  { state: 'expiring', acts: 'The owner', does: 'collects a new version in time' },
  { state: 'expired', acts: 'The owner', does: 'collects a new version' },
  { state: 'approved', acts: 'Nobody', does: 'has to act' },
  { state: 'superseded', acts: 'Nobody', does: 'has to act' },
  { state: 'not_applicable', acts: 'Nobody', does: 'has to act' },
  { state: 'revoked', acts: 'Nobody', does: 'has to act' },
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
const revoke: Step = { to: 'revoked', label: 'Revoke', asks: 'reason' };

const STEPS: Readonly<Partial<Record<EvidenceState, readonly Step[]>>> = {
  requested: [collect('Collect'), { to: 'not_applicable', label: 'Not applicable', asks: 'nothing' }],
  collected: [{ to: 'in_review', label: 'Submit for review', asks: 'nothing' }, revoke],
  in_review: [
    { to: 'approved', label: 'Approve', asks: 'nothing' },
    { to: 'rejected', label: 'Reject', asks: 'reason' },
    revoke,
  ],
  rejected: [collect('Collect again'), revoke],
  approved: [collect('Collect a new version'), revoke],
  expiring: [collect('Collect a new version'), revoke],
  expired: [collect('Collect a new version'), revoke],
};

/** The transitions open to this person: a collector does not review their own evidence. */
export function stepsOf(evidence: Pick<Evidence, 'state' | 'collectedBy'>, personId: string): readonly Step[] {
  const isOwnWork = evidence.collectedBy === personId;
  return (STEPS[evidence.state] ?? []).filter(({ to }) => !isOwnWork || (to !== 'approved' && to !== 'rejected'));
}
