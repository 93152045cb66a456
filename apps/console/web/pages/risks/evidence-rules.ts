import type { RiskSchemas } from './risk-api.ts';

export type EvidenceState = RiskSchemas['EvidenceState'];
export type Evidence = RiskSchemas['EvidenceView'];

/** The columns of the board: first what somebody has to do something about. */
export const BOARD: readonly { readonly state: EvidenceState; readonly acts: string; readonly does: string }[] = [
  { state: 'requested', acts: 'The owner', does: 'collects it' },
  { state: 'collected', acts: 'Who collected it', does: 'puts it to review' },
  { state: 'in_review', acts: 'A reviewer who did not collect it', does: 'approves or rejects it' },
  { state: 'rejected', acts: 'The owner', does: 'collects it anew' },
  { state: 'expiring', acts: 'The owner', does: 'collects a new version in time' },
  { state: 'expired', acts: 'The owner', does: 'collects a new version' },
  { state: 'approved', acts: 'Nobody', does: 'has to act' },
  { state: 'superseded', acts: 'Nobody', does: 'has to act' },
  { state: 'not_applicable', acts: 'Nobody', does: 'has to act' },
  { state: 'revoked', acts: 'Nobody', does: 'has to act' },
];

/** Who is waited for, by id; undefined where it is a role, or nobody. */
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

/** A move that the life of evidence has. */
export interface Step {
  readonly to: EvidenceState;
  readonly label: string;
  /** What has to be typed in for it. */
  readonly asks: 'nothing' | 'reason' | 'fingerprint';
}

const collect = (label: string): Step => ({ to: 'collected', label, asks: 'fingerprint' });
const revoke: Step = { to: 'revoked', label: 'Revoke', asks: 'reason' };

const STEPS: Readonly<Partial<Record<EvidenceState, readonly Step[]>>> = {
  requested: [collect('Collect'), { to: 'not_applicable', label: 'Not applicable', asks: 'nothing' }],
  collected: [{ to: 'in_review', label: 'Put to review', asks: 'nothing' }, revoke],
  in_review: [
    { to: 'approved', label: 'Approve', asks: 'nothing' },
    { to: 'rejected', label: 'Reject', asks: 'reason' },
    revoke,
  ],
  rejected: [collect('Collect anew'), revoke],
  approved: [collect('Collect a new version'), revoke],
  expiring: [collect('Collect a new version'), revoke],
  expired: [collect('Collect a new version'), revoke],
};

/** The steps that this person could take: whoever collected evidence does not review it. */
export function stepsOf(evidence: Pick<Evidence, 'state' | 'collectedBy'>, personId: string): readonly Step[] {
  const isOwnWork = evidence.collectedBy === personId;
  return (STEPS[evidence.state] ?? []).filter(({ to }) => !isOwnWork || (to !== 'approved' && to !== 'rejected'));
}
