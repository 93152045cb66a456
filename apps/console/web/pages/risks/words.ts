/** Display names of the values of the risk partner, in the order of selection lists. */
export const WORDS = {
  riskStatus: {
    identified: 'Identified',
    assessed: 'Assessed',
    in_treatment: 'In treatment',
    accepted: 'Accepted',
    closed: 'Closed',
    archived: 'Archived',
  },
  level: { low: 'Low', medium: 'Medium', high: 'High', critical: 'Critical' },
  treatment: {
    undecided: 'Undecided',
    mitigate: 'Mitigate',
    accept: 'Accept',
    avoid: 'Avoid',
    transfer: 'Transfer',
  },
  reviewStatus: { draft: 'Draft', in_review: 'In review', approved: 'Approved', rejected: 'Rejected' },
  controlStatus: {
    draft: 'Draft',
    planned: 'Planned',
    implemented: 'Implemented',
    not_applicable: 'Not applicable',
    retired: 'Retired',
  },
  testResult: { passed: 'Passed', failed: 'Failed', inconclusive: 'Inconclusive' },
  assetStatus: { planned: 'Planned', active: 'Active', retired: 'Retired' },
  policyStatus: { draft: 'Draft', in_review: 'In review', approved: 'Approved', retired: 'Retired' },
  evidenceKind: {
    document: 'Document',
    test_result: 'Test result',
    attestation: 'Attestation',
    link: 'Link',
    log_extract: 'Log extract',
  },
  evidenceState: {
    requested: 'Requested',
    collected: 'Collected',
    in_review: 'In review',
    approved: 'Approved',
    expiring: 'Expiring',
    expired: 'Expired',
    rejected: 'Rejected',
    superseded: 'Superseded',
    revoked: 'Revoked',
    not_applicable: 'Not applicable',
  },
  coverageState: { covered: 'Covered', partial: 'Partial', gap: 'Gap', not_applicable: 'Not applicable' },
  role: {
    owner: 'Owner',
    admin: 'Administrator',
    risk_manager: 'Risk manager',
    auditor: 'Auditor',
    contributor: 'Contributor',
    viewer: 'Viewer',
    partner_read: 'Partner (machine)',
  },
} as const;

/** The display name of a value; unknown values are shown with spaces instead of underscores. */
export function inWords(value: string, group: keyof typeof WORDS): string {
  const words: Readonly<Record<string, string>> = WORDS[group];
  return Object.hasOwn(words, value) ? words[value]! : value.replaceAll('_', ' ');
}

/** The levels of a score, worst last, for cell colours. */
export const levelOf = (score: number): keyof typeof WORDS.level =>
  score >= 17 ? 'critical' : score >= 10 ? 'high' : score >= 5 ? 'medium' : 'low';
