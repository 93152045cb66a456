import { instantOf, type JsonValue } from '@sealgate/json';

/** The five resource kinds. */
export const KINDS = ['risk', 'evidence', 'asset', 'control', 'policy'] as const;
export type KindName = (typeof KINDS)[number];

/** Members of every document. Times are RFC 3339 in UTC with milliseconds. */
export interface Doc {
  readonly id: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** Documents whose rows are filtered by owner, department and sensitivity. */
export interface FilteredDoc extends Doc {
  readonly ownerId: string;
  readonly department: string | null;
  readonly sensitive: boolean;
}

/** The attributes for row filters. Kinds visible to the whole organisation have none. */
export interface RowAttributes {
  readonly ownerId: string | null;
  readonly department: string | null;
  readonly sensitive: boolean;
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

/** A resource kind, as data and pure functions: how documents are created, changed, stored and shown. */
export interface Kind<D extends Doc, New, Change> {
  readonly name: KindName;
  /** The last segment of its paths, `risks`. */
  readonly collection: string;
  /** Prefix of its ids, `rsk_`. */
  readonly prefix: string;
  readonly links: Links;
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
  /** What the dashboard shows; `n` is the value of If-Match. */
  view(doc: D, at: { readonly n: number; readonly nowMs: number; readonly inList: boolean }): object;
}

/** A kind without its document types, for generic stores and routes. */
export type AnyKind = Kind<Doc, never, never>;

/** Formats milliseconds since the epoch as in documents. */
export const timeText = (ms: number): string => new Date(ms).toISOString();

/** Normalises a time sent by a caller, cut to milliseconds; null and undefined pass unchanged. */
export function normalTime<Time extends string | null | undefined>(time: Time): Time {
  return (typeof time === 'string' ? instantOf(time).toISOString() : time) as Time;
}
