import { isDeepStrictEqual } from 'node:util';
import { AppError } from '@sealgate/errors';
import { closedObject, enumOf, instantText, named } from '@sealgate/schemas';
import { Type, type Static } from '@sinclair/typebox';
import * as s from '../schemas.ts';
import { changeOf, itemMembers, labelled, newOf, normalTime, picked, setBy, shown, unsetOf } from './model.ts';
import { docMembers, filterMembers, timeText, type Kind, type Writing } from './resource.ts';

const EvidenceKind = enumOf('EvidenceKind', ['document', 'test_result', 'attestation', 'link', 'log_extract']);

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

const StoredState = enumOf('StoredEvidenceState', STORED_STATES);
type StoredState = Static<typeof StoredState>;
export const EvidenceState = enumOf('EvidenceState', EVIDENCE_STATES);
export type EvidenceState = Static<typeof EvidenceState>;

const Size = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const MediaType = Type.String({ pattern: '^[A-Za-z0-9!#$&^_.+-]{1,100}/[A-Za-z0-9!#$&^_.+-]{1,100}$' });
const Period = named('Period', closedObject({ from: instantText(), to: instantText() }));
const ObservationPeriod = named('ObservationPeriod', Type.Object(Period.properties));

/** What describes evidence, and may change until it is settled. */
const described = {
  sizeBytes: labelled('Size in bytes', s.OrNull(Size)),
  mediaType: labelled('Media type', s.OrNull(MediaType), 'For example application/pdf.'),
  source: labelled('Source', s.OrNull(s.Title)),
  collectionMethod: labelled('How it was collected', s.OrNull(s.Title)),
  observationPeriod: labelled('Observed', s.OrNull(Period)),
  effectiveAt: labelled('Effective', s.OrNull(s.Time)),
  validUntil: labelled('Valid until', s.OrNull(s.Time)),
  ...filterMembers,
  controlIds: labelled('Controls', s.Ids),
};

const Evidence = Type.Object({
  id: s.Text,
  title: labelled('Title', s.Title),
  kind: labelled('Kind', EvidenceKind),
  state: labelled('State', StoredState),
  sha256: labelled('SHA-256', s.OrNull(s.Sha256), '64 hexadecimal digits of the content; not for links and requests.'),
  ...described,
  /** Counts the fingerprints, from 1. */
  version: labelled('Version', s.Integer),
  previousSha256: s.OrNull(s.Sha256),
  /** The approved evidence that this one replaces once it is approved. */
  previousId: labelled('Replaces', s.OrNull(s.Text)),
  collectedBy: labelled('Collected by', s.OrNull(s.Text)),
  receivedAt: labelled('Received', s.OrNull(s.Time)),
  reviewedBy: labelled('Reviewed by', s.OrNull(s.Text)),
  reviewedAt: labelled('Reviewed', s.OrNull(s.Time)),
  reviewReason: labelled('Reason of the review', s.OrNull(s.Text)),
  ledgerRecordId: labelled('Ledger record', s.OrNull(s.Text)),
  ...docMembers,
});
export type Evidence = Static<typeof Evidence>;

const { title, kind, sha256 } = Evidence.properties;
const state = labelled('State', enumOf('NewEvidenceState', ['requested', 'collected']));
export const NewEvidence = named('NewEvidence', newOf({ title, kind, state, sha256, ...described }, ['title', 'kind']));
type NewEvidence = Static<typeof NewEvidence>;
/** Has `kind` and `sha256` so that `changed` can refuse them, depending on the state. */
export const EvidenceChange = named('EvidenceChange', changeOf(Type.Omit(NewEvidence, ['state'])));
type EvidenceChange = Static<typeof EvidenceChange>;

export const EvidenceView = named(
  'EvidenceView',
  Type.Object({
    ...shown(Evidence.properties),
    state: labelled('State', EvidenceState),
    observationPeriod: labelled('Observed', s.OrNull(ObservationPeriod)),
  }),
);

const texts = ['title', 'mediaType'] as const;

/** What partners see. */
export const EvidenceItem = named(
  'Evidence',
  Type.Object({
    ...itemMembers(Evidence, {
      texts,
      others: [
        ...(['id', 'kind', 'sha256', 'sizeBytes', 'effectiveAt', 'validUntil', 'controlIds', 'version'] as const),
        ...(['receivedAt', 'ledgerRecordId', 'createdAt', 'updatedAt'] as const),
      ],
    }),
    state: EvidenceState,
  }),
);

const DAY_MS = 86_400_000;
export const EXPIRING_BEFORE_MS = 30 * DAY_MS;

/**
 * The day at whose end, or in which, evidence that is valid until then expires: seven digits, in order. A day is from after
 * midnight to the next midnight, because most ends are a midnight.
 */
export const dayOfEnd = (ms: number): string => String(Math.ceil(ms / DAY_MS) + 1_000_000).padStart(7, '0');
/** The beginning of that day. */
export const startOfDayOfEnd = (ms: number): number => (Math.ceil(ms / DAY_MS) - 1) * DAY_MS;

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
  approved: null,
  superseded: null,
  revoked: null,
  not_applicable: null,
};

const unset = unsetOf(Evidence);

export const evidenceKind: Kind<Evidence, NewEvidence, EvidenceChange> = {
  name: 'evidence',
  collection: 'evidence',
  prefix: 'evd_',
  rowFiltered: true,
  unset,
  links: { controlIds: 'control', previousId: 'evidence' },
  make(body, writing) {
    const state = body.state ?? 'collected';
    const sha256 = body.sha256 ?? null;
    checkFingerprint(body.kind, state, sha256);
    const now = timeText(writing.nowMs);
    const isCollected = state === 'collected';
    const { title, kind } = body;
    const blank: Evidence = {
      ...unset,
      id: writing.id,
      title,
      kind,
      state,
      sha256,
      version: 1,
      collectedBy: isCollected ? writing.personId : null,
      receivedAt: isCollected ? now : null,
      ownerId: writing.personId,
      createdAt: now,
      updatedAt: now,
    };
    const { kind: _kind, state: _state, sha256: _sha256, ...described } = body;
    return applied(blank, described);
  },
  change: changed,
  freeText: texts,
  validUntil: ({ validUntil }) => validUntil,
  partnerItem: (evidence) => picked(EvidenceItem, evidence),
  facets: ({ state, controlIds, previousId }) => [
    `state:${state}`,
    ...controlIds.map((id) => `link:${id}`),
    ...(previousId === null ? [] : [`previous:${previousId}`]),
  ],
  sorts: ['createdAt', 'updatedAt', 'title', 'validUntil'],
  counted: ({ state, validUntil, controlIds }) => [
    `state:${state}`,
    ...(state === 'approved' && validUntil !== null ? [`until:${dayOfEnd(Date.parse(validUntil))}`] : []),
    ...controlIds.map((id) => `link:${id}`),
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
  const { observationPeriod: period, ...plain } = body;
  return {
    ...evidence,
    ...setBy(NewEvidence, plain),
    ...(period !== undefined && { observationPeriod: period && normalPeriod(period) }),
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
export const Transition = named(
  'EvidenceTransition',
  closedObject({
    to: EvidenceState,
    reason: s.Optional(Type.String({ minLength: 1, maxLength: 2000 })),
    sha256: s.Optional(s.Sha256),
    sizeBytes: s.Optional(Size),
    mediaType: s.Optional(MediaType),
  }),
);
export type Transition = Static<typeof Transition>;

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
