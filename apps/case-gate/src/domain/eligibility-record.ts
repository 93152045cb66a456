import type { KeyedHasher } from '@sealgate/auth';
import { canonical } from '@sealgate/json';
import type { FinalDecision } from './case-record.ts';

/** The current decision of a subject. */
export interface CurrentDecision {
  readonly decision: FinalDecision;
  readonly case_id: string;
  readonly policy_version: string;
  readonly decision_id: string;
  readonly decided_at: string;
  /** Null for a decline that was never sealed. */
  readonly ledger_record_id: string | null;
  readonly reason_codes: readonly string[];
  readonly venue_ids: readonly string[];
  readonly valid_from: string;
  readonly valid_until: string | null;
}

export interface Restriction {
  readonly at: string;
  readonly reason: string;
}

/** Why an operator must confirm a record after ledger records were declared lost. */
export const UNCONFIRMED_CAUSES = ['changed_since', 'not_in_ledger', 'newer_version_seen'] as const;
export type UnconfirmedCause = (typeof UNCONFIRMED_CAUSES)[number];

/** The standing of a record under declared losses of ledger records. */
export interface LossReview {
  /** The newest epoch known when this version was made: losses up to it were reviewed. */
  readonly epoch: number;
  /** Null where no confirmation is needed, or it was given. */
  readonly unconfirmed: UnconfirmedCause | null;
}

/**
 * The state of a subject in one environment, which the gate decides by. The members are those of the stored,
 * authenticated and ledger text. Times are RFC 3339, UTC, milliseconds.
 */
export interface EligibilityRecord {
  readonly v: 1;
  readonly environment: string;
  readonly subject_ref: string;
  /** 1 for the first; incremented by each change. */
  readonly record_version: number;
  readonly current: CurrentDecision | null;
  readonly suspension: Restriction | null;
  readonly revocation: Restriction | null;
  readonly changed_at: string;
  /** Absent on versions made before any loss was declared. */
  readonly loss?: LossReview | undefined;
}

export interface UnconfirmedRecord extends EligibilityRecord {
  readonly loss: LossReview & { readonly unconfirmed: UnconfirmedCause };
}

export function isUnconfirmed(record: EligibilityRecord): record is UnconfirmedRecord {
  return (record.loss?.unconfirmed ?? null) !== null;
}

/** The status of a record regardless of the time: `eligible` may have expired. */
export type StoredStatus = 'pending' | 'eligible' | 'ineligible' | 'unconfirmed' | 'suspended' | 'revoked';

/** Revocation outranks suspension, suspension a missing confirmation, and all of them any decision. */
export function storedStatus(record: EligibilityRecord): StoredStatus {
  const { current, suspension, revocation } = record;
  if (revocation !== null) return 'revoked';
  if (suspension !== null) return 'suspended';
  if (isUnconfirmed(record)) return 'unconfirmed';
  if (current === null) return 'pending';
  return current.decision === 'approve' ? 'eligible' : 'ineligible';
}

/** The first record of a subject, without a decision. */
export function newRecord(
  { environment, subjectRef }: { readonly environment: string; readonly subjectRef: string },
  at: Date,
  loss: LossReview | undefined,
): EligibilityRecord {
  return withLoss(
    {
      v: 1,
      environment,
      subject_ref: subjectRef,
      record_version: 1,
      current: null,
      suspension: null,
      revocation: null,
      changed_at: at.toISOString(),
    },
    loss,
  );
}

/** The canonical form accepts no undefined members. */
function withLoss(record: EligibilityRecord, loss: LossReview | undefined): EligibilityRecord {
  const { loss: _, ...rest } = record;
  return loss === undefined ? rest : { ...rest, loss };
}

/** The record after a change, with its new standing under declared losses. */
export function changed(
  record: EligibilityRecord,
  {
    loss,
    ...change
  }: Partial<Pick<EligibilityRecord, 'current' | 'suspension' | 'revocation' | 'record_version'>> &
    Required<Pick<EligibilityRecord, 'loss'>>,
  at: Date,
): EligibilityRecord {
  const next = { ...record, record_version: record.record_version + 1, ...change, changed_at: at.toISOString() };
  return withLoss(next, loss);
}

/** Whether a decision supersedes the current one: the latest by (decided_at, decision_id) is current. */
export function isNewer(candidate: CurrentDecision, current: CurrentDecision | null): boolean {
  if (current === null) return true;
  if (candidate.decided_at !== current.decided_at) return candidate.decided_at > current.decided_at;
  return candidate.decision_id >= current.decision_id;
}

/** The stored row of a record. */
export interface EligibilityRow {
  readonly environment: string;
  readonly subject_ref: string;
  readonly record_version: number;
  readonly status: string;
  /** The canonical text of the record. */
  readonly document: string;
  readonly changed_at: Date;
  /** `<secretId>:<base64url>` */
  readonly mac: string;
}

/** The row to store. Its columns repeat members of the document, and the MAC covers all of them. */
export function rowOf(record: EligibilityRecord, macs: KeyedHasher): EligibilityRow {
  const row = {
    environment: record.environment,
    subject_ref: record.subject_ref,
    record_version: record.record_version,
    status: storedStatus(record),
    document: canonical({ ...record } as never),
    changed_at: new Date(record.changed_at),
  };
  const { id, digest } = macs.hash(...partsOf(row));
  return { ...row, mac: `${id}:${digest.toString('base64url')}` };
}

/** The record of a row; undefined where a column fails the MAC, or the document is not a record. */
export function recordOf(row: EligibilityRow, macs: KeyedHasher): EligibilityRecord | undefined {
  if (!isAuthentic(row.mac, macs, partsOf(row))) return undefined;
  const record = readRecord(row.document);
  const agrees =
    record !== undefined &&
    record.environment === row.environment &&
    record.subject_ref === row.subject_ref &&
    record.record_version === row.record_version &&
    record.changed_at === row.changed_at.toISOString() &&
    storedStatus(record) === row.status;
  return agrees ? record : undefined;
}

type Authenticated = Omit<EligibilityRow, 'mac'>;

function partsOf({ environment, subject_ref, record_version, status, document, changed_at }: Authenticated): string[] {
  return [environment, subject_ref, String(record_version), status, changed_at.toISOString(), document];
}

/** Whether a stored `<secretId>:<base64url>` is the MAC of these parts. Never throws, whatever the column holds. */
export function isAuthentic(mac: unknown, macs: KeyedHasher, parts: readonly string[]): boolean {
  if (typeof mac !== 'string' || parts.some((part) => typeof part !== 'string' || !part.isWellFormed())) return false;
  const colon = mac.indexOf(':');
  if (colon < 0) return false;
  const digest = Buffer.from(mac.slice(colon + 1), 'base64url');
  return macs.verify({ id: mac.slice(0, colon), digest }, ...parts);
}

/** Parses the stored text strictly: a missing, null or mistyped member makes it invalid. */
export function readRecord(text: string): EligibilityRecord | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  return isRecord(value) ? value : undefined;
}

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === 'string' && value !== '';
const isTexts: Check = (value) => Array.isArray(value) && value.every((item) => isText(item));
const isMoment: Check = (value) => {
  const ms = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return !Number.isNaN(ms) && new Date(ms).toISOString() === value;
};
const orNull =
  (check: Check): Check =>
  (value) =>
    value === null || check(value);

/** Exactly these members, each of which must pass; those of `optional` may be absent. */
const shape =
  (required: Readonly<Record<string, Check>>, optional: Readonly<Record<string, Check>> = {}): Check =>
  (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
    const names = Object.keys(value);
    if (!Object.keys(required).every((name) => Object.hasOwn(value, name))) return false;
    const checks = { ...required, ...optional };
    return names.every(
      (name) => Object.hasOwn(checks, name) && checks[name]!((value as Record<string, unknown>)[name]),
    );
  };

const isRestriction = shape({ at: isMoment, reason: isText });

const isCurrent = shape({
  decision: (value) => value === 'approve' || value === 'decline',
  case_id: isText,
  policy_version: isText,
  decision_id: isText,
  decided_at: isMoment,
  ledger_record_id: orNull(isText),
  reason_codes: isTexts,
  venue_ids: isTexts,
  valid_from: isMoment,
  valid_until: orNull(isMoment),
});

const isCount: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 1;
const isLossReview = shape({
  epoch: isCount,
  unconfirmed: orNull((value) => (UNCONFIRMED_CAUSES as readonly unknown[]).includes(value)),
});

const hasShape = shape(
  {
    v: (value) => value === 1,
    environment: isText,
    subject_ref: isText,
    record_version: isCount,
    current: orNull(isCurrent),
    suspension: orNull(isRestriction),
    revocation: orNull(isRestriction),
    changed_at: isMoment,
  },
  { loss: isLossReview },
);

function isRecord(value: unknown): value is EligibilityRecord {
  return hasShape(value);
}
