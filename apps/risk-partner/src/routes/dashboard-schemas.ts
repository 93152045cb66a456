import { closedObject, enumOf, instantText, lineOfText, named } from '@sealgate/http';
import { Type, type TObject } from '@sinclair/typebox';
import * as s from '../schemas.ts';

const { Optional, OrNull } = s;
const Degree = Type.Integer({ minimum: 1, maximum: 5 });
const Estimate = named('Estimate', closedObject({ likelihood: Degree, impact: Degree }));
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
  status: Optional(s.RiskStatus),
  inherent: Estimate,
  current: Optional(Estimate),
  residual: Optional(OrNull(Estimate)),
  treatment: Optional(s.Treatment),
  treatmentPlan: Optional(OrNull(s.LongText)),
  reviewStatus: Optional(s.ReviewStatus),
  assetIds: Optional(s.Ids),
  controlIds: Optional(s.Ids),
  evidenceIds: Optional(s.Ids),
  acceptance: Optional(named('NewAcceptance', closedObject({ expiresAt: instantText() }))),
  identifiedAt: Optional(instantText()),
  nextReviewAt: Optional(NullableTime),
};

const asset = {
  refId: Optional(OrNull(lineOfText({ min: 1, max: 64 }))),
  name: s.Title,
  type: s.Short,
  criticality: Optional(s.Criticality),
  dataClassification: Optional(OrNull(s.Short)),
  environment: Optional(OrNull(s.Short)),
  ...filtered,
  status: Optional(s.AssetStatus),
  controlIds: Optional(s.Ids),
};

const FrameworkRef = named('FrameworkRef', closedObject({ frameworkId: s.IdText, requirementId: s.IdText }));

const control = {
  refId: Optional(OrNull(lineOfText({ min: 1, max: 64 }))),
  title: s.Title,
  description: Optional(OrNull(s.LongText)),
  status: Optional(s.ControlStatus),
  frameworkRefs: Optional(Type.Array(FrameworkRef, { maxItems: 200, uniqueItems: true })),
  lastTestedAt: Optional(NullableTime),
  testResult: Optional(OrNull(s.TestResult)),
};

const policy = {
  title: s.Title,
  status: Optional(s.PolicyStatus),
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

/** A change may omit every member. */
const changeOf = <Members extends TObject>(schema: Members) => Type.Partial(schema, { additionalProperties: false });

export const NewRisk = named('NewRisk', closedObject(risk));
export const RiskChange = named('RiskChange', changeOf(NewRisk));
export const NewAsset = named('NewAsset', closedObject(asset));
export const AssetChange = named('AssetChange', changeOf(NewAsset));
export const NewControl = named('NewControl', closedObject(control));
export const ControlChange = named('ControlChange', changeOf(NewControl));
export const NewPolicy = named('NewPolicy', closedObject(policy));
export const PolicyChange = named('PolicyChange', changeOf(NewPolicy));
export const NewEvidence = named(
  'NewEvidence',
  closedObject({
    ...evidenceChange,
    title: s.Title,
    kind: s.EvidenceKind,
    state: Optional(enumOf('NewEvidenceState', ['requested', 'collected'])),
    sha256: Optional(OrNull(s.Sha256)),
  }),
);
/** Accepts `kind` and `sha256` so that they can be refused depending on the state. */
export const EvidenceChange = named(
  'EvidenceChange',
  changeOf(closedObject({ ...evidenceChange, kind: Optional(s.EvidenceKind), sha256: Optional(OrNull(s.Sha256)) })),
);
export const Transition = named(
  'EvidenceTransition',
  closedObject({
    to: s.EvidenceState,
    reason: Optional(Type.String({ minLength: 1, maxLength: 2000 })),
    sha256: Optional(s.Sha256),
    sizeBytes: Optional(Size),
    mediaType: Optional(MediaType),
  }),
);

const NullableText = OrNull(s.Text);
const shownTimes = { createdAt: s.Time, updatedAt: s.Time };
const shownFilters = { department: NullableText, ownerId: s.Text, sensitive: s.Flag };
const Rating = named(
  'Rating',
  Type.Object({ likelihood: s.Integer, impact: s.Integer, score: s.Integer, level: s.Level }),
);

export const RiskView = named(
  'RiskView',
  Type.Object({
    id: s.Text,
    refId: NullableText,
    title: s.Text,
    description: NullableText,
    category: s.Text,
    ...shownFilters,
    status: s.RiskStatus,
    inherent: Rating,
    current: Rating,
    residual: OrNull(Rating),
    treatment: s.Treatment,
    treatmentPlan: NullableText,
    reviewStatus: s.ReviewStatus,
    assetIds: s.Texts,
    controlIds: s.Texts,
    evidenceIds: s.Texts,
    acceptance: OrNull(
      named(
        'Acceptance',
        Type.Object({
          acceptedBy: s.Text,
          acceptedAt: s.Time,
          expiresAt: s.Time,
          residualAtAcceptance: OrNull(Rating),
          stale: s.Flag,
        }),
      ),
    ),
    identifiedAt: s.Time,
    nextReviewAt: OrNull(s.Time),
    ...shownTimes,
    version: s.Integer,
  }),
);

export const AssetView = named(
  'AssetView',
  Type.Object({
    id: s.Text,
    refId: NullableText,
    name: s.Text,
    type: s.Text,
    criticality: s.Criticality,
    dataClassification: NullableText,
    environment: NullableText,
    ...shownFilters,
    status: s.AssetStatus,
    controlIds: s.Texts,
    ...shownTimes,
  }),
);

export const ControlView = named(
  'ControlView',
  Type.Object({
    id: s.Text,
    refId: NullableText,
    title: s.Text,
    description: NullableText,
    status: s.ControlStatus,
    frameworkRefs: Type.Array(s.RequirementRef),
    lastTestedAt: OrNull(s.Time),
    testResult: OrNull(s.TestResult),
    ...shownTimes,
  }),
);

export const PolicyView = named(
  'PolicyView',
  Type.Object({
    id: s.Text,
    title: s.Text,
    version: s.Integer,
    status: s.PolicyStatus,
    body: Type.Optional(Type.String({ description: 'Only in a single record, not in lists.' })),
    bodySha256: s.Sha256,
    approvedAt: OrNull(s.Time),
    effectiveAt: OrNull(s.Time),
    nextReviewAt: OrNull(s.Time),
    ...shownTimes,
  }),
);

export const EvidenceView = named(
  'EvidenceView',
  Type.Object({
    id: s.Text,
    title: s.Text,
    kind: s.EvidenceKind,
    state: s.EvidenceState,
    sha256: OrNull(s.Sha256),
    sizeBytes: OrNull(s.Integer),
    mediaType: NullableText,
    version: s.Integer,
    previousSha256: OrNull(s.Sha256),
    previousId: NullableText,
    source: NullableText,
    collectionMethod: NullableText,
    collectedBy: NullableText,
    observationPeriod: OrNull(named('ObservationPeriod', Type.Object({ from: s.Time, to: s.Time }))),
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
  }),
);
