import { isDeepStrictEqual } from 'node:util';
import { AppError } from '@sealgate/errors';
import { defined, type JsonValue } from '@sealgate/json';
import { normalTime, timeText, type FilteredDoc, type Kind, type Writing } from './resource.ts';

export const EVIDENCE_KINDS = ['document', 'test_result', 'attestation', 'link', 'log_extract'] as const;

/** Stored states. `expiring` and `expired` are computed: approved evidence near or past its end. */
const STORED_STATES = [
  'requested',
  'collected',
  'in_review',
  'approved',
  'rejected',
  'superseded',
  'revoked',
  'not_applicable',
] as const;
export const EVIDENCE_STATES = [...STORED_STATES, 'expiring', 'expired'] as const;

type StoredState = (typeof STORED_STATES)[number];
export type EvidenceState = (typeof EVIDENCE_STATES)[number];

export interface Evidence extends FilteredDoc {
  readonly title: string;
  readonly kind: (typeof EVIDENCE_KINDS)[number];
  readonly state: StoredState;
  readonly sha256: string | null;
  readonly sizeBytes: number | null;
  readonly mediaType: string | null;
  /** Counts the fingerprints, from 1. */
  readonly version: number;
  readonly previousSha256: string | null;
  /** The approved evidence that this one replaces once it is approved. */
  readonly previousId: string | null;
  readonly source: string | null;
  readonly collectionMethod: string | null;
  readonly collectedBy: string | null;
  readonly observationPeriod: { readonly from: string; readonly to: string } | null;
  readonly effectiveAt: string | null;
  readonly receivedAt: string | null;
  readonly validUntil: string | null;
  readonly controlIds: readonly string[];
  readonly reviewedBy: string | null;
  readonly reviewedAt: string | null;
  readonly reviewReason: string | null;
  readonly ledgerRecordId: string | null;
}

export interface EvidenceChange {
  readonly title?: string;
  readonly sizeBytes?: number | null;
  readonly mediaType?: string | null;
  readonly source?: string | null;
  readonly collectionMethod?: string | null;
  readonly observationPeriod?: Evidence['observationPeriod'];
  readonly effectiveAt?: string | null;
  readonly validUntil?: string | null;
  readonly department?: string | null;
  readonly ownerId?: string;
  readonly sensitive?: boolean;
  readonly controlIds?: readonly string[];
  /** Accepted by the schema so that `changed` can refuse them. */
  readonly kind?: Evidence['kind'];
  readonly sha256?: string | null;
}

export interface NewEvidence extends EvidenceChange {
  readonly title: string;
  readonly kind: Evidence['kind'];
  readonly state?: 'requested' | 'collected';
}

const EXPIRING_BEFORE_MS = 30 * 86_400_000;

/** The state at a time: approved evidence is expiring for 30 days before its end, then expired. */
export function stateAt(state: StoredState, validUntil: string | null, nowMs: number): EvidenceState {
  if (state !== 'approved' || validUntil === null) return state;
  const endMs = Date.parse(validUntil);
  if (nowMs >= endMs) return 'expired';
  return nowMs >= endMs - EXPIRING_BEFORE_MS ? 'expiring' : 'approved';
}

/** Who has to act on evidence in a state: its owner, its collector, or a reviewer; null: nobody. */
export const ACTS_NEXT: Readonly<Record<EvidenceState, 'owner' | 'collector' | 'reviewer' | null>> = {
  requested: 'owner',
  collected: 'collector',
  in_review: 'reviewer',
  rejected: 'owner',
  expiring: 'owner',
  expired: 'owner',
  ...{ approved: null, superseded: null, revoked: null, not_applicable: null },
};

export const evidenceKind: Kind<Evidence, NewEvidence, EvidenceChange> = {
  name: 'evidence',
  collection: 'evidence',
  prefix: 'evd_',
  rowFiltered: true,
  links: { controlIds: 'control', previousId: 'evidence' },
  make(body, writing) {
    const state = body.state ?? 'collected';
    const sha256 = body.sha256 ?? null;
    checkFingerprint(body.kind, state, sha256);
    const now = timeText(writing.nowMs);
    const isCollected = state === 'collected';
    const blank: Evidence = {
      id: writing.id,
      title: body.title,
      kind: body.kind,
      state,
      sha256,
      sizeBytes: null,
      mediaType: null,
      version: 1,
      previousSha256: null,
      previousId: null,
      source: null,
      collectionMethod: null,
      collectedBy: isCollected ? writing.personId : null,
      observationPeriod: null,
      effectiveAt: null,
      receivedAt: isCollected ? now : null,
      validUntil: null,
      department: null,
      ownerId: writing.personId,
      sensitive: false,
      controlIds: [],
      reviewedBy: null,
      reviewedAt: null,
      reviewReason: null,
      ledgerRecordId: null,
      createdAt: now,
      updatedAt: now,
    };
    const { kind: _kind, state: _state, sha256: _sha256, ...described } = body;
    return applied(blank, described);
  },
  change: changed,
  freeText: ['title', 'mediaType'],
  validUntil: ({ validUntil }) => validUntil,
  partnerItem: (evidence): { [member: string]: JsonValue } => ({
    id: evidence.id,
    title: evidence.title,
    kind: evidence.kind,
    state: evidence.state,
    sha256: evidence.sha256,
    sizeBytes: evidence.sizeBytes,
    mediaType: evidence.mediaType,
    version: evidence.version,
    effectiveAt: evidence.effectiveAt,
    receivedAt: evidence.receivedAt,
    validUntil: evidence.validUntil,
    controlIds: [...evidence.controlIds],
    ledgerRecordId: evidence.ledgerRecordId,
    createdAt: evidence.createdAt,
    updatedAt: evidence.updatedAt,
  }),
  facets: ({ state, controlIds, previousId }) => [
    `state:${state}`,
    ...controlIds.map((id) => `link:${id}`),
    ...(previousId === null ? [] : [`previous:${previousId}`]),
  ],
  view: (evidence, { nowMs }) => ({ ...evidence, state: stateAt(evidence.state, evidence.validUntil, nowMs) }),
};

/** States after a decision; expiring and expired evidence is stored as approved. */
const SETTLED: readonly StoredState[] = ['approved', 'superseded', 'revoked'];

/**
 * Settled evidence changes only in owner, department and sensitivity. The rest is what the reviewer approved, and
 * changes by a new version. Sending a member with its current value is allowed.
 */
function changed(evidence: Evidence, body: EvidenceChange, { nowMs }: Writing): Evidence {
  const { kind = evidence.kind, sha256 = evidence.sha256, ...described } = body;
  const next = { ...applied(evidence, described), kind, sha256 };
  if (SETTLED.includes(evidence.state)) {
    const free = { department: evidence.department, ownerId: evidence.ownerId, sensitive: evidence.sensitive };
    if (!isDeepStrictEqual({ ...next, ...free }, evidence))
      throw new AppError(
        'INVALID_STATE_TRANSITION',
        `Evidence that is ${evidence.state} can change only department, owner and sensitivity; collect a new version.`,
      );
  } else {
    for (const name of ['kind', 'sha256'] as const)
      if (body[name] !== undefined) throw fault(`/${name}`, 'changes only by a transition to collected');
  }
  return { ...next, updatedAt: timeText(nowMs) };
}

function applied(evidence: Evidence, body: Omit<EvidenceChange, 'kind' | 'sha256'>): Evidence {
  const { observationPeriod, effectiveAt, validUntil, ...plain } = body;
  return {
    ...evidence,
    ...defined(plain),
    ...defined({
      observationPeriod: observationPeriod && normalPeriod(observationPeriod),
      effectiveAt: normalTime(effectiveAt),
      validUntil: normalTime(validUntil),
    }),
  };
}

function normalPeriod({ from, to }: { from: string; to: string }): { from: string; to: string } {
  const period = { from: normalTime(from), to: normalTime(to) };
  if (period.from > period.to) throw fault('/observationPeriod/to', 'must not be before from');
  return period;
}

function checkFingerprint(kind: Evidence['kind'], state: StoredState, sha256: string | null): void {
  if (state === 'requested') {
    if (sha256 !== null) throw fault('/sha256', 'must be null while evidence is only requested');
  } else if (kind !== 'link' && sha256 === null) {
    throw fault('/sha256', 'is required, except for links and requested evidence');
  }
}

/** A requested change of state. */
export interface Transition {
  readonly to: EvidenceState;
  readonly reason?: string;
  readonly sha256?: string;
  readonly sizeBytes?: number;
  readonly mediaType?: string;
}

const FROM: Readonly<Partial<Record<EvidenceState, readonly EvidenceState[]>>> = {
  collected: ['requested', 'rejected', 'approved', 'expiring', 'expired'],
  not_applicable: ['requested'],
  in_review: ['collected'],
  approved: ['in_review'],
  rejected: ['in_review'],
  revoked: ['collected', 'in_review', 'approved', 'expiring', 'expired', 'rejected'],
};

/** Checks a transition without its evidence. @throws AppError INVALID_REQUEST. */
export function checkTransition({ to, reason, sha256, sizeBytes, mediaType }: Transition): void {
  if ((to === 'rejected' || to === 'revoked') && reason === undefined) throw fault('/reason', `is required for ${to}`);
  if (to === 'collected') return;
  for (const [name, value] of Object.entries({ sha256, sizeBytes, mediaType }))
    if (value !== undefined) throw fault(`/${name}`, 'is allowed only in a transition to collected');
}

/**
 * The result of a transition: the changed evidence, or a new one to replace it.
 * @throws AppError FORBIDDEN if the collector reviews, INVALID_STATE_TRANSITION, INVALID_REQUEST.
 */
export function afterTransition(evidence: Evidence, transition: Transition, writing: Writing): Evidence {
  const { to, reason = null } = transition;
  const isReview = to === 'approved' || to === 'rejected';
  if (isReview && evidence.collectedBy === writing.personId)
    throw new AppError('FORBIDDEN', 'The collector of evidence may not review it.');
  const state = stateAt(evidence.state, evidence.validUntil, writing.nowMs);
  if (FROM[to]?.includes(state) !== true)
    throw new AppError('INVALID_STATE_TRANSITION', `Evidence that is ${state} cannot become ${to}.`);
  const now = timeText(writing.nowMs);
  if (to === 'collected') return collected(evidence, transition, writing);
  if (isReview) {
    const review = { reviewedBy: writing.personId, reviewedAt: now, reviewReason: reason };
    return { ...evidence, ...review, state: to, updatedAt: now };
  }
  // `to` is a key of FROM, and those are stored states.
  return { ...evidence, state: to as StoredState, reviewReason: reason ?? evidence.reviewReason, updatedAt: now };
}

function collected(evidence: Evidence, transition: Transition, writing: Writing): Evidence {
  const { sizeBytes, mediaType } = transition;
  const sha256 = transition.sha256 ?? null;
  const now = timeText(writing.nowMs);
  checkFingerprint(evidence.kind, 'collected', sha256);
  const collection = {
    state: 'collected' as const,
    sha256,
    sizeBytes: sizeBytes ?? null,
    mediaType: mediaType ?? evidence.mediaType,
    collectedBy: writing.personId,
    receivedAt: evidence.receivedAt ?? now,
    updatedAt: now,
  };
  if (evidence.state === 'requested') return { ...evidence, ...collection };
  if (sha256 !== null && sha256 === evidence.sha256) throw fault('/sha256', 'must differ from the previous version');
  const next = { version: evidence.version + 1, previousSha256: evidence.sha256 };
  const unreviewed = { reviewedBy: null, reviewedAt: null, reviewReason: null, ledgerRecordId: null };
  if (evidence.state === 'rejected') return { ...evidence, ...collection, ...next, ...unreviewed };
  // Approved evidence stays valid until its successor is approved.
  const own = { id: writing.id, previousId: evidence.id, receivedAt: now, createdAt: now, validUntil: null };
  return { ...evidence, ...collection, ...next, ...unreviewed, ...own };
}

/** The evidence after its successor was approved. */
export function superseded(evidence: Evidence, nowMs: number): Evidence {
  return { ...evidence, state: 'superseded', updatedAt: timeText(nowMs) };
}

function fault(pointer: string, detail: string): AppError {
  return new AppError('INVALID_REQUEST', 'The evidence is invalid.', {
    faults: [{ in: 'body', pointer, detail }],
  });
}
