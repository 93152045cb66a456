/** Inputs of the steps, and results passed between them. */
export interface TourFacts {
  readonly url: string;
  readonly adminUrl: string;
  readonly key: string;
  readonly adminToken: string;
  readonly venueId: string;
  /** New for each tour, so that it can be repeated. */
  readonly subjectRef: string;
  caseId: string;
}

type Body = Readonly<Record<string, unknown>>;

/** One request of the tour, and its expected response. */
export interface TourStep {
  readonly title: string;
  readonly method: 'GET' | 'POST';
  readonly listener: 'public' | 'admin';
  readonly path: (facts: TourFacts) => string;
  readonly body?: (facts: TourFacts) => Body;
  readonly headers?: (facts: TourFacts) => Readonly<Record<string, string>>;
  readonly status: number;
  /** The members of the response that matter, and the required values of some. */
  readonly shows: readonly string[];
  readonly expects?: Body;
  readonly learn?: (facts: TourFacts, answer: Body) => void;
  /** The file in the tour's folder that stores the response. */
  readonly keep?: string;
}

const POLICY = 'demo-1';
const ofCase = (rest: string) => (facts: TourFacts) => `/v1/cases/${facts.caseId}${rest}`;
const reference = (ref: string, label: string, digit: string) => ({
  kind: 'vault_ref',
  ref,
  sha256: digit.repeat(64),
  media_type: 'application/pdf',
  size_bytes: 48_213,
  label,
});

const check = {
  method: 'POST',
  listener: 'public',
  path: () => '/v1/gate/check',
  body: ({ subjectRef, venueId }: TourFacts) => ({ subject_ref: subjectRef, venue_id: venueId }),
  status: 200,
  shows: ['decision', 'reason_codes', 'decision_id'],
} as const;

/** The story of one case: from its opening to the venue, and to its end. */
export const TOUR: readonly TourStep[] = [
  {
    title: 'Open a case for an applicant',
    method: 'POST',
    listener: 'public',
    path: () => '/v1/cases',
    headers: ({ subjectRef }) => ({ 'Idempotency-Key': `tour-${subjectRef}` }),
    body: ({ subjectRef, venueId }) => ({ subject_ref: subjectRef, venue_ids: [venueId] }),
    status: 201,
    shows: ['case_id', 'status'],
    expects: { status: 'received' },
    learn: (facts, { case_id: caseId }) => {
      facts.caseId = String(caseId);
    },
  },
  {
    title: 'Attach documents: references and hashes, never bytes',
    method: 'POST',
    listener: 'public',
    path: ofCase('/attachments'),
    body: () => ({
      attachments: [reference('vault/passport-7', 'passport', 'a'), reference('vault/address-7', 'address', 'b')],
    }),
    status: 201,
    shows: ['status', 'attachments'],
    expects: { status: 'in_review' },
  },
  {
    title: 'Decide by the rules of a policy version',
    method: 'POST',
    listener: 'public',
    path: ofCase('/decide'),
    body: () => ({ policy_version: POLICY }),
    status: 201,
    shows: ['decision', 'reason_codes', 'policy_version'],
    expects: { decision: 'approve' },
  },
  {
    title: 'At the venue it has no effect yet: an approval counts once it is sealed',
    ...check,
    expects: { decision: 'deny', reason_codes: ['NO_SEALED_DECISION'] },
  },
  {
    title: 'Seal the decision in the ledger, once',
    method: 'POST',
    listener: 'public',
    path: ofCase('/seal'),
    headers: ({ caseId }) => ({ 'Idempotency-Key': `${caseId}:${POLICY}` }),
    status: 201,
    shows: ['status', 'ledger_record_id', 'seal_hash'],
    expects: { status: 'sealed' },
  },
  {
    title: 'Read the eligibility record of the subject',
    method: 'GET',
    listener: 'public',
    path: ({ subjectRef }) => `/v1/eligibility/${subjectRef}`,
    status: 200,
    shows: ['status', 'record_version', 'evidence_hash'],
    expects: { status: 'eligible' },
  },
  { title: 'At the venue: allow', ...check, expects: { decision: 'allow', reason_codes: ['ELIGIBLE'] } },
  {
    title: 'The operator revokes the subject',
    method: 'POST',
    listener: 'admin',
    path: ({ subjectRef }) => `/admin/v1/subjects/${subjectRef}/revoke`,
    body: () => ({ reason: 'The tour ends here.' }),
    status: 200,
    shows: ['status', 'revoked_at', 'record_version'],
    expects: { status: 'revoked' },
  },
  {
    title: 'At the venue, from that response on: deny',
    ...check,
    expects: { decision: 'deny', reason_codes: ['ELIGIBILITY_REVOKED'] },
  },
  {
    title: 'Export the assessor pack',
    method: 'GET',
    listener: 'public',
    path: ofCase('/assessor-pack'),
    status: 200,
    shows: ['status', 'pack_hash'],
    keep: 'pack.json',
  },
  {
    title: 'Save the keys that sign packs, which an assessor would already have',
    method: 'GET',
    listener: 'public',
    path: () => '/.well-known/jwks.json',
    status: 200,
    shows: [],
    keep: 'packs.jwks.json',
  },
];
