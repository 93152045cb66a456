import type { JsonValue } from '@sealgate/json';
import { lineOfText } from '@sealgate/schemas';
import type { Static, TObject } from '@sinclair/typebox';
import { Flag, IdText, OrNull, Short, Time } from '../schemas.ts';
import { labelled } from './model.ts';

/** The five resource kinds. */
export const KINDS = ['risk', 'evidence', 'asset', 'control', 'policy'] as const;
export type KindName = (typeof KINDS)[number];

/** Members of every document. Times are RFC 3339 in UTC with milliseconds. */
export const docMembers = {
  createdAt: labelled('Created', Time),
  updatedAt: labelled('Changed', Time),
};
export type Doc = { id: string } & Static<TObject<typeof docMembers>>;

/** Members of documents whose rows are filtered by owner, department and sensitivity. */
export const filterMembers = {
  department: labelled('Department', OrNull(Short)),
  ownerId: labelled('Owner', IdText, 'Id of a person; left empty: you.'),
  sensitive: labelled('Sensitive', Flag, 'Seen by its owner, and by who may read sensitive rows.'),
};
type Filtered = Static<TObject<typeof filterMembers>>;
export type FilteredDoc = Doc & Filtered;

/** What people call a row. */
export const refId = labelled('Reference', OrNull(lineOfText({ min: 1, max: 64 })), 'What your organisation calls it.');

/** The attributes for row filters. Kinds visible to the whole organisation have none. */
export interface RowAttributes extends Omit<Filtered, 'ownerId'> {
  readonly ownerId: string | null;
}

/** For kinds filtered by organisation only. */
export const SEEN_BY_ALL: RowAttributes = { ownerId: null, department: null, sensitive: false };

/** The new id, the writer, and the time. */
export interface Writing {
  readonly id: string;
  readonly personId: string;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
}

/** Link members: lists of ids, or one id or null, with the kind they refer to. */
export type Links = Readonly<Partial<Record<'assetIds' | 'controlIds' | 'evidenceIds' | 'previousId', KindName>>>;

/** The fields that lists of some kind can be sorted by. */
export const SORT_FIELDS = [
  'createdAt',
  'updatedAt',
  'refId',
  'title',
  'name',
  'currentScore',
  'nextReviewAt',
  'validUntil',
  'acceptanceExpiresAt',
] as const;
export type SortField = (typeof SORT_FIELDS)[number];

/** A resource kind, as data and pure functions: how documents are created, changed, stored and shown. */
export interface Kind<D extends Doc, New, Change> {
  readonly name: KindName;
  /** The last segment of its paths, `risks`. */
  readonly collection: string;
  /** Prefix of its ids, `rsk_`. */
  readonly prefix: string;
  readonly links: Links;
  /** What a document has in members that are newer than it, and that nobody set. */
  readonly unset: Readonly<Record<string, unknown>>;
  /** Whether rows are filtered by owner, department and sensitivity; else the whole organisation sees them. */
  readonly rowFiltered: boolean;
  /** @throws AppError INVALID_REQUEST for rules that the schema cannot express. */
  make(body: New, writing: Writing): D;
  /** @throws AppError INVALID_REQUEST, INVALID_STATE_TRANSITION. */
  change(doc: D, body: Change, writing: Writing): D;
  /** The free-text members that partners see: these are scanned for personal data. */
  readonly freeText: readonly string[];
  /** What partners see, in any order of members. */
  partnerItem(doc: D): { [member: string]: JsonValue };
  /** When the item becomes another without a write; null: never. Absent for kinds without such a time. */
  validUntil?(doc: D): string | null;
  /** `name:value` texts that filters look up. */
  facets(doc: D): string[];
  /** What its lists can be sorted by. */
  readonly sorts: readonly SortField[];
  /** The cells that aggregates count the row in, besides `all`. */
  counted?(doc: D): string[];
  /** What the dashboard shows; `n` is the value of If-Match. */
  view(doc: D, at: Viewed): object;
}

/** A rating that a risk no longer has. */
export interface FormerRating {
  readonly likelihood: number;
  readonly impact: number;
  /** When it was changed, RFC 3339. */
  readonly until: string;
}

/** What a view shows besides the document. */
interface Viewed {
  readonly n: number;
  readonly previous?: FormerRating;
  readonly nowMs: number;
  readonly inList: boolean;
}

/** A kind without its document types, for generic stores and routes. */
export type AnyKind = Kind<Doc, never, never>;

/** Formats milliseconds since the epoch as in documents. */
export const timeText = (ms: number): string => new Date(ms).toISOString();
