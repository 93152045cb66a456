import { closedObject, instantText, lineOfText } from '@sealgate/http';
import { Type, type TObject } from '@sinclair/typebox';
import { ASSET_STATUSES, CRITICALITIES } from '../domain/asset.ts';
import { CONTROL_STATUSES, TEST_RESULTS } from '../domain/control.ts';
import { EVIDENCE_KINDS, EVIDENCE_STATES } from '../domain/evidence.ts';
import { POLICY_STATUSES } from '../domain/policy.ts';
import { LEVELS, REVIEW_STATUSES, RISK_STATUSES, TREATMENTS } from '../domain/risk.ts';
import * as s from '../schemas.ts';

const { Optional, OrNull, oneOf } = s;
const Degree = Type.Integer({ minimum: 1, maximum: 5 });
const Estimate = closedObject({ likelihood: Degree, impact: Degree });
const NullableTime = OrNull(instantText());

const filtered = {
  department: Optional(OrNull(s.Short)),
  ownerId: Optional(s.IdText),
  sensitive: Optional(s.Flag),
};

const risk = {
  refId: Optional(OrNull(lineOfText({ min: 1, max: 64 }))),
  title: s.Title,
  description: Optional(OrNull(s.LongText)),
  category: s.Short,
  ...filtered,
  status: Optional(oneOf(RISK_STATUSES)),
  inherent: Estimate,
  current: Optional(Estimate),
  residual: Optional(OrNull(Estimate)),
  treatment: Optional(oneOf(TREATMENTS)),
  treatmentPlan: Optional(OrNull(s.LongText)),
  reviewStatus: Optional(oneOf(REVIEW_STATUSES)),
  assetIds: Optional(s.Ids),
  controlIds: Optional(s.Ids),
  evidenceIds: Optional(s.Ids),
  acceptance: Optional(closedObject({ expiresAt: instantText() })),
  identifiedAt: Optional(instantText()),
  nextReviewAt: Optional(NullableTime),
};

const asset = {
  refId: Optional(OrNull(lineOfText({ min: 1, max: 64 }))),
  name: s.Title,
  type: s.Short,
  criticality: Optional(oneOf(CRITICALITIES)),
  dataClassification: Optional(OrNull(s.Short)),
  environment: Optional(OrNull(s.Short)),
  ...filtered,
  status: Optional(oneOf(ASSET_STATUSES)),
  controlIds: Optional(s.Ids),
};

const FrameworkRef = closedObject({ frameworkId: s.IdText, requirementId: s.IdText });

const control = {
  refId: Optional(OrNull(lineOfText({ min: 1, max: 64 }))),
  title: s.Title,
  description: Optional(OrNull(s.LongText)),
  status: Optional(oneOf(CONTROL_STATUSES)),
  frameworkRefs: Optional(Type.Array(FrameworkRef, { maxItems: 200, uniqueItems: true })),
  lastTestedAt: Optional(NullableTime),
  testResult: Optional(OrNull(oneOf(TEST_RESULTS))),
};

const policy = {
  title: s.Title,
  status: Optional(oneOf(POLICY_STATUSES)),
  body: Type.String({ minLength: 1, maxLength: 200_000 }),
  approvedAt: Optional(NullableTime),
  effectiveAt: Optional(NullableTime),
  nextReviewAt: Optional(NullableTime),
};

const Size = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const MediaType = Type.String({ pattern: '^[A-Za-z0-9!#$&^_.+-]{1,100}/[A-Za-z0-9!#$&^_.+-]{1,100}$' });

const evidenceChange = {
  title: Optional(s.Title),
  sizeBytes: Optional(OrNull(Size)),
  mediaType: Optional(OrNull(MediaType)),
  source: Optional(OrNull(s.Title)),
  collectionMethod: Optional(OrNull(s.Title)),
  observationPeriod: Optional(OrNull(s.Period)),
  effectiveAt: Optional(NullableTime),
  validUntil: Optional(NullableTime),
  ...filtered,
  controlIds: Optional(s.Ids),
};

/** Every member may be left out of a change. */
const changeOf = <Members extends TObject>(schema: Members) => Type.Partial(schema, { additionalProperties: false });

export const NewRisk = closedObject(risk);
export const RiskChange = changeOf(NewRisk);
export const NewAsset = closedObject(asset);
export const AssetChange = changeOf(NewAsset);
export const NewControl = closedObject(control);
export const ControlChange = changeOf(NewControl);
export const NewPolicy = closedObject(policy);
export const PolicyChange = changeOf(NewPolicy);
export const NewEvidence = closedObject({
  ...evidenceChange,
  title: s.Title,
  kind: oneOf(EVIDENCE_KINDS),
  state: Optional(oneOf(['requested', 'collected'])),
  sha256: Optional(OrNull(s.Sha256)),
});
/** `kind` and `sha256` are taken so that they can be refused by the state of the evidence. */
export const EvidenceChange = changeOf(
  closedObject({ ...evidenceChange, kind: Optional(oneOf(EVIDENCE_KINDS)), sha256: Optional(OrNull(s.Sha256)) }),
);
export const Transition = closedObject({
  to: oneOf(EVIDENCE_STATES),
  reason: Optional(Type.String({ minLength: 1, maxLength: 2000 })),
  sha256: Optional(s.Sha256),
  sizeBytes: Optional(Size),
  mediaType: Optional(MediaType),
});

const NullableText = OrNull(s.Text);
const shownTimes = { createdAt: s.Time, updatedAt: s.Time };
const shownFilters = { department: NullableText, ownerId: s.Text, sensitive: s.Flag };
const Rating = Type.Object({ likelihood: s.Integer, impact: s.Integer, score: s.Integer, level: oneOf(LEVELS) });

export const RiskView = Type.Object({
  id: s.Text,
  refId: NullableText,
  title: s.Text,
  description: NullableText,
  category: s.Text,
  ...shownFilters,
  status: oneOf(RISK_STATUSES),
  inherent: Rating,
  current: Rating,
  residual: OrNull(Rating),
  treatment: oneOf(TREATMENTS),
  treatmentPlan: NullableText,
  reviewStatus: oneOf(REVIEW_STATUSES),
  assetIds: s.Texts,
  controlIds: s.Texts,
  evidenceIds: s.Texts,
  acceptance: OrNull(
    Type.Object({
      acceptedBy: s.Text,
      acceptedAt: s.Time,
      expiresAt: s.Time,
      residualAtAcceptance: OrNull(Rating),
      stale: s.Flag,
    }),
  ),
  identifiedAt: s.Time,
  nextReviewAt: OrNull(s.Time),
  ...shownTimes,
  version: s.Integer,
});

export const AssetView = Type.Object({
  id: s.Text,
  refId: NullableText,
  name: s.Text,
  type: s.Text,
  criticality: oneOf(CRITICALITIES),
  dataClassification: NullableText,
  environment: NullableText,
  ...shownFilters,
  status: oneOf(ASSET_STATUSES),
  controlIds: s.Texts,
  ...shownTimes,
});

export const ControlView = Type.Object({
  id: s.Text,
  refId: NullableText,
  title: s.Text,
  description: NullableText,
  status: oneOf(CONTROL_STATUSES),
  frameworkRefs: Type.Array(Type.Object({ frameworkId: s.Text, requirementId: s.Text })),
  lastTestedAt: OrNull(s.Time),
  testResult: OrNull(oneOf(TEST_RESULTS)),
  ...shownTimes,
});

export const PolicyView = Type.Object({
  id: s.Text,
  title: s.Text,
  version: s.Integer,
  status: oneOf(POLICY_STATUSES),
  body: Type.Optional(Type.String({ description: 'In the single record alone.' })),
  bodySha256: s.Sha256,
  approvedAt: OrNull(s.Time),
  effectiveAt: OrNull(s.Time),
  nextReviewAt: OrNull(s.Time),
  ...shownTimes,
});

export const EvidenceView = Type.Object({
  id: s.Text,
  title: s.Text,
  kind: oneOf(EVIDENCE_KINDS),
  state: oneOf(EVIDENCE_STATES),
  sha256: OrNull(s.Sha256),
  sizeBytes: OrNull(s.Integer),
  mediaType: NullableText,
  version: s.Integer,
  previousSha256: OrNull(s.Sha256),
  previousId: NullableText,
  source: NullableText,
  collectionMethod: NullableText,
  collectedBy: NullableText,
  observationPeriod: OrNull(Type.Object({ from: s.Time, to: s.Time })),
  effectiveAt: OrNull(s.Time),
  receivedAt: OrNull(s.Time),
  validUntil: OrNull(s.Time),
  ...shownFilters,
  controlIds: s.Texts,
  reviewedBy: NullableText,
  reviewedAt: OrNull(s.Time),
  reviewReason: NullableText,
  ledgerRecordId: NullableText,
  ...shownTimes,
});
