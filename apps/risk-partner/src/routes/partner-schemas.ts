import { enumOf, instantText, named, namedAfter } from '@sealgate/http';
import { ProvedOnFabric } from '@sealgate/schemas';
import { Type, type TProperties, type TSchema } from '@sinclair/typebox';
import { AssetItem, Criticality } from '../domain/asset.ts';
import { ControlItem, ControlStatus } from '../domain/control.ts';
import { EvidenceItem, EvidenceState } from '../domain/evidence.ts';
import { PolicyItem, PolicyStatus } from '../domain/policy.ts';
import { Level, RiskItem, RiskStatus } from '../domain/risk.ts';
import { IdText, Integer, Optional, OrNull, Sha256, Short, Text, Texts, Time } from '../schemas.ts';

/** Free text; null if old data held personal data. */
const Shown = OrNull(Text);

const Framework = named(
  'Framework',
  Type.Object({ id: Text, name: Shown, version: Shown, requirementCount: Integer, createdAt: Time }),
);

const COVERAGE_STATES = ['covered', 'partial', 'gap', 'not_applicable'] as const;
const CoverageState = enumOf('CoverageState', COVERAGE_STATES);

const Coverage = named(
  'Coverage',
  Type.Object({
    id: Text,
    frameworkId: Text,
    requirementId: Text,
    requirementTitle: Shown,
    state: CoverageState,
    controlIds: Texts,
    evidenceIds: Type.Array(Text, { description: 'The valid evidence that the caller may see.' }),
    freshestEvidenceAt: OrNull(Time),
  }),
);

const provedSubject = {
  id: Text,
  subjectType: Type.Literal('evidence'),
  subjectId: Text,
  sha256: Sha256,
  ledgerRecordId: Text,
  channel: Text,
};

const LogProof = named(
  'LogProof',
  Type.Object({
    ...provedSubject,
    index: Integer,
    leafHash: Sha256,
    treeSize: Integer,
    inclusionPath: Type.Array(Sha256),
    checkpoint: Type.String({ description: 'A signed note (C2SP tlog-checkpoint).' }),
    sealedAt: Time,
  }),
);

const PeersProof = named(
  'PeersProof',
  Type.Object(
    {
      ...provedSubject,
      index: Type.Null(),
      leafHash: Type.Null(),
      treeSize: Type.Null(),
      inclusionPath: Type.Null(),
      checkpoint: Type.Null(),
      sealedAt: Time,
      ...ProvedOnFabric.properties,
    },
    { description: 'On Fabric, which has no log: what peers signed.' },
  ),
);

const Proof = named('Proof', Type.Union([LogProof, PeersProof]));

const counts = ['assets', 'risks', 'evidence', 'controls', 'policies', 'frameworks', 'coverage', 'proofs'] as const;

const Snapshot = named(
  'Snapshot',
  Type.Object({
    id: Text,
    createdAt: Time,
    rowCounts: named(
      'RowCounts',
      Type.Object(Object.fromEntries(counts.map((name) => [name, Integer])), {
        description: 'The number of rows of each collection that the caller could see.',
      }),
    ),
    expiresAt: Type.String({
      format: 'date-time',
      description: 'Not removed before this time; the newest snapshot does not expire.',
    }),
  }),
);

/** One collection of the catalogue: the schema of its items, and its filters. */
export interface PartnerCollection {
  readonly name: string;
  /** The resource whose read permission gives access, besides `partner:read`. */
  readonly resource: string;
  readonly item: TSchema;
  readonly filters: TProperties;
  /** Read at one revision, which the response names. */
  readonly atSnapshot: boolean;
  /** Whether it can be searched: its items have a reference, title or name. */
  readonly isSearched: boolean;
}

const filter = <Schema extends TSchema>(schema: Schema, description: string, ...examples: string[]) =>
  Optional({ ...schema, description, ...(examples.length > 0 && { examples }) });

const updatedSince = filter(
  instantText(),
  'Only items changed at or after this time (RFC 3339, with Z or an offset).',
  '2026-01-31T00:00:00Z',
);
const ofFramework = filter(IdText, 'Only of the framework with this id.', 'fwk_01jz0w9c4e');
/** A malformed id is a snapshot that does not exist (404), so the schema does not restrict it. */
const SnapshotId = filter(
  Text,
  'Read the revision of this snapshotId, from an earlier response, instead of the current one.',
);

/** The catalogue, in the order of the contract. */
export const CATALOGUE: readonly PartnerCollection[] = [
  {
    name: 'assets',
    resource: 'asset',
    item: AssetItem,
    filters: {
      type: filter(Short, 'Only assets of exactly this type; the organisation defines the types.', 'system'),
      criticality: filter(Criticality, 'Only assets of this criticality.'),
      updatedSince,
    },
    atSnapshot: false,
    isSearched: true,
  },
  {
    name: 'risks',
    resource: 'risk',
    item: RiskItem,
    filters: {
      status: filter(RiskStatus, 'Only risks in this status.'),
      category: filter(Short, 'Only risks of exactly this category; the organisation defines the categories.', 'legal'),
      level: filter(Level, 'Only risks with this current level (after the treatment done so far).'),
      updatedSince,
    },
    atSnapshot: false,
    isSearched: true,
  },
  {
    name: 'evidence',
    resource: 'evidence',
    item: EvidenceItem,
    filters: {
      state: filter(EvidenceState, 'Only evidence in this state; only approved and expiring evidence counts.'),
      controlId: filter(IdText, 'Only evidence for the control with this id.', 'ctl_01jz0w9c4e'),
      updatedSince,
    },
    atSnapshot: false,
    isSearched: true,
  },
  {
    name: 'controls',
    resource: 'control',
    item: ControlItem,
    filters: { status: filter(ControlStatus, 'Only controls in this status.'), framework: ofFramework },
    atSnapshot: false,
    isSearched: true,
  },
  {
    name: 'policies',
    resource: 'policyMetadata',
    item: PolicyItem,
    filters: { status: filter(PolicyStatus, 'Only policies in this status.') },
    atSnapshot: false,
    isSearched: true,
  },
  { name: 'frameworks', resource: 'framework', item: Framework, filters: {}, atSnapshot: false, isSearched: true },
  {
    name: 'coverage',
    resource: 'coverage',
    item: Coverage,
    filters: {
      framework: ofFramework,
      state: filter(CoverageState, 'Only requirements in this state; gap: no valid evidence.'),
      snapshotId: SnapshotId,
    },
    atSnapshot: true,
    isSearched: false,
  },
  {
    name: 'proofs',
    resource: 'proof',
    item: Proof,
    filters: {
      subjectType: filter(Type.Literal('evidence'), 'The type of the proved record; always evidence.'),
      subjectId: filter(IdText, 'Only the proof of the evidence with this id.', 'evd_01jz0w9c4e'),
      snapshotId: SnapshotId,
    },
    atSnapshot: true,
    isSearched: false,
  },
  { name: 'snapshots', resource: 'snapshot', item: Snapshot, filters: {}, atSnapshot: false, isSearched: false },
];

const common = {
  contractVersion: Type.Literal('svc.partner.v1'),
  evidence_hash: Type.String({
    pattern: '^[0-9a-f]{64}$',
    description: 'SHA-256 over the canonical form (RFC 8785) of the envelope without this member.',
  }),
  generatedAt: Time,
  orgId: Text,
  snapshotId: Optional(Text),
  verified_no_npi: Type.Literal(true),
};

const Pagination = named('Pagination', Type.Object({ limit: Integer, count: Integer, nextCursor: OrNull(Text) }));

export const listEnvelope = (item: TSchema) =>
  namedAfter(item, 'ListEnvelope', Type.Object({ ...common, items: Type.Array(item), pagination: Pagination }));

export const itemEnvelope = (item: TSchema) => namedAfter(item, 'Envelope', Type.Object({ ...common, item }));
