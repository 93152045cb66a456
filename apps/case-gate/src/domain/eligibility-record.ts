import type { KeyedHasher } from '@sealgate/auth';
import { canonical } from '@sealgate/json';
import { FormatRegistry, Type } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import { closedObject, Environment, OrNull, SubjectRef, Text, Time } from '../schemas.ts';
import type { RecordOf } from './model.ts';
import { isRowAuthentic, rowMac, type SignedKind } from './signed-row.ts';
import type { VersionedRecord } from './versioned-record.ts';

/** In a stored text a time is valid only in the form in which it is written. */
FormatRegistry.Set('date-time', (text) => {
  const ms = Date.parse(text);
  return !Number.isNaN(ms) && new Date(ms).toISOString() === text;
});

const Filled = Type.String({ minLength: 1 });
const Count = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });

/** The current decision of a subject. */
export const CurrentDecision = closedObject({
  decision: Type.Union([Type.Literal('approve'), Type.Literal('decline')]),
  case_id: Filled,
  policy_version: Filled,
  decision_id: Filled,
  decided_at: Time,
  // Null for a decline that was never sealed.
  ledger_record_id: OrNull(Filled),
  reason_codes: Type.Array(Filled),
  venue_ids: Type.Array(Filled),
  valid_from: Time,
  valid_until: OrNull(Time),
});
export type CurrentDecision = RecordOf<typeof CurrentDecision>;

const Restriction = closedObject({ at: Time, reason: Filled });

/** Why an operator must confirm a record after ledger records were declared lost. */
export const UNCONFIRMED_CAUSES = ['changed_since', 'not_in_ledger', 'newer_version_seen'] as const;

/** The standing of a record under declared losses of ledger records. */
const LossReview = closedObject({
  // The newest epoch known when this version was made: losses up to it were reviewed.
  epoch: Count,
  // Null where no confirmation is needed, or it was given.
  unconfirmed: OrNull(Type.Union(UNCONFIRMED_CAUSES.map((cause) => Type.Literal(cause)))),
});
export type LossReview = RecordOf<typeof LossReview>;
export type UnconfirmedCause = NonNullable<LossReview['unconfirmed']>;

/**
 * The state of a subject in one environment, which the gate decides by. The members are those of the stored,
 * authenticated and ledger text.
 */
const EligibilityRecord = closedObject({
  v: Type.Literal(1),
  environment: Filled,
  subject_ref: Filled,
  // 1 for the first; incremented by each change.
  record_version: Count,
  current: OrNull(CurrentDecision),
  suspension: OrNull(Restriction),
  revocation: OrNull(Restriction),
  changed_at: Time,
  // Absent on versions made before any loss was declared.
  loss: Type.Optional(LossReview),
});
export type EligibilityRecord = Omit<RecordOf<typeof EligibilityRecord>, 'loss'> & {
  readonly loss?: LossReview | undefined;
};

export type UnconfirmedRecord = EligibilityRecord & {
  readonly loss: LossReview & { readonly unconfirmed: UnconfirmedCause };
};

export function isUnconfirmed(record: EligibilityRecord): record is UnconfirmedRecord {
  return (record.loss?.unconfirmed ?? null) !== null;
}

/** The status of a record regardless of the time: `eligible` may have expired. */
type StoredStatus = 'pending' | 'eligible' | 'ineligible' | 'unconfirmed' | 'suspended' | 'revoked';

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
  { environment, subjectRef }: Subject,
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

/** A subject in one environment. */
export interface Subject {
  readonly environment: string;
  readonly subjectRef: string;
}

/** The parts of the ledger ids of a subject's record. */
export function eligibilityName({ environment, subjectRef }: Subject): string[] {
  return ['eligibility', environment, subjectRef];
}

/** A version of a subject's record, as the ledger holds it. */
export function eligibilityVersion(record: EligibilityRecord, document: string): VersionedRecord {
  const { environment, subject_ref: subjectRef, record_version: version } = record;
  return { name: eligibilityName({ environment, subjectRef }), type: 'eligibility.record', version, data: document };
}

/** Whether a decision supersedes the current one: the latest by (decided_at, decision_id) is current. */
export function isNewer(candidate: CurrentDecision, current: CurrentDecision | null): boolean {
  if (current === null) return true;
  if (candidate.decided_at !== current.decided_at) return candidate.decided_at > current.decided_at;
  return candidate.decision_id >= current.decision_id;
}

/** The columns of a stored record. All but `document`, its canonical text, repeat members of it. */
const Row = Type.Object({
  environment: Environment,
  subject_ref: SubjectRef,
  record_version: Type.Integer({ minimum: 1 }),
  status: Text,
  changed_at: Time,
  document: Text,
});

export const ELIGIBILITY: SignedKind<RecordOf<typeof Row>> = {
  kind: 'eligibility',
  what: 'subject',
  table: 'eligibility',
  model: Row,
  id: ['environment', 'subject_ref'],
};

export type EligibilityRow = RecordOf<typeof Row> & { readonly mac: string };

/** The row to store. */
export function rowOf(record: EligibilityRecord, macs: KeyedHasher): EligibilityRow {
  const { environment, subject_ref, record_version, changed_at } = record;
  const status = storedStatus(record);
  const document = canonical({ ...record } as never);
  const row = { environment, subject_ref, record_version, status, changed_at, document };
  return { ...row, mac: rowMac(ELIGIBILITY, row, macs) };
}

/** The record of a row; undefined where a column fails the MAC, or the document is not a record. */
export function recordOf({ mac, ...row }: EligibilityRow, macs: KeyedHasher): EligibilityRecord | undefined {
  if (!isRowAuthentic(ELIGIBILITY, { row, mac }, macs)) return undefined;
  const record = readRecord(row.document);
  const agrees =
    record !== undefined &&
    record.environment === row.environment &&
    record.subject_ref === row.subject_ref &&
    record.record_version === row.record_version &&
    record.changed_at === row.changed_at &&
    storedStatus(record) === row.status;
  return agrees ? record : undefined;
}

/** The columns of a subject as selected: null where there is no row. */
export type SubjectRow = {
  readonly record_version: number | null;
  readonly status: string | null;
  readonly document: string | null;
  readonly changed_at: Date | null;
  readonly mac: string | null;
  /** The newest version in the history. */
  readonly newest_version: number | null;
};

/** What a row says by itself, without the ledger. */
export type StoredRecord =
  | { readonly kind: 'none' }
  | { readonly kind: 'record'; readonly record: EligibilityRecord }
  | { readonly kind: 'corrupt'; readonly newestVersion: number };

/** Interprets a row. A missing row, or one older than the newest known version, may be corrupt. */
export function storedOf(
  { record_version, status, document, changed_at, mac, newest_version }: SubjectRow,
  { environment, subjectRef: subject_ref }: Subject,
  macs: KeyedHasher,
): StoredRecord {
  const newest = newest_version ?? 0;
  if (record_version === null || status === null || document === null || changed_at === null || mac === null)
    return newest === 0 ? { kind: 'none' } : { kind: 'corrupt', newestVersion: newest };
  const row = { environment, subject_ref, record_version, status, document, changed_at: changed_at.toISOString(), mac };
  const record = recordOf(row, macs);
  if (record !== undefined && record.record_version === newest) return { kind: 'record', record };
  return { kind: 'corrupt', newestVersion: Math.max(newest, record_version) };
}

const recordCheck = TypeCompiler.Compile(EligibilityRecord);

/** Parses the stored text strictly: a missing, null or mistyped member makes it invalid. */
export function readRecord(text: string): EligibilityRecord | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  return recordCheck.Check(value) ? value : undefined;
}
