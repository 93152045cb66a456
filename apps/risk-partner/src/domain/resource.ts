import type { JsonValue } from '@sealgate/json';

/** The five kinds that people write. */
export const KINDS = ['risk', 'evidence', 'asset', 'control', 'policy'] as const;
export type KindName = (typeof KINDS)[number];

/** What every document has. Times are RFC 3339 in UTC with milliseconds. */
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

/** What row filters look at. Kinds that are seen by the whole organisation have none of it. */
export interface RowAttributes {
  readonly ownerId: string | null;
  readonly department: string | null;
  readonly sensitive: boolean;
}

/** For kinds that are filtered by organisation alone. */
export const SEEN_BY_ALL: RowAttributes = { ownerId: null, department: null, sensitive: false };

/** Who writes, and when. */
export interface Writing {
  readonly id: string;
  readonly personId: string;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
}

/** Ids of other resources that a document may name, by member: a list of them, or one or null. */
export type Links = Readonly<Partial<Record<'assetIds' | 'controlIds' | 'evidenceIds' | 'previousId', KindName>>>;

/**
 * A kind of resource, as data and pure functions: what a new document is, what a change makes of it, what is stored beside
 * it, and how it is shown.
 */
export interface Kind<D extends Doc, New, Change> {
  readonly name: KindName;
  /** The last segment of its paths, `risks`. */
  readonly collection: string;
  /** What its ids begin with, `rsk_`. */
  readonly prefix: string;
  readonly links: Links;
  /** Whether owner, department and sensitivity narrow who may see a row; else the whole organisation may. */
  readonly rowFiltered: boolean;
  /** @throws AppError INVALID_REQUEST for what a schema cannot say. */
  make(body: New, writing: Writing): D;
  /** @throws AppError INVALID_REQUEST, INVALID_STATE_TRANSITION. */
  change(doc: D, body: Change, writing: Writing): D;
  /** The texts of a document that partners are shown, by member. */
  freeText(doc: D): Readonly<Record<string, string | null>>;
  /** What partners are shown, in any order of members. */
  partnerItem(doc: D): { [member: string]: JsonValue };
  /** `name:value` texts that filters ask for. */
  facets(doc: D): string[];
  /** What the dashboard is shown; `n` is the value of If-Match. */
  view(doc: D, at: { readonly n: number; readonly nowMs: number; readonly inList: boolean }): object;
}

/** A kind whose types have been forgotten: what stores and generic routes hold. */
export type AnyKind = Kind<Doc, never, never>;

/** Milliseconds since the epoch as documents write them. */
export const timeText = (ms: number): string => new Date(ms).toISOString();

/** A time as a caller may write it, as documents write it; null stays null, absent stays absent. */
export function normalTime<Time extends string | null | undefined>(time: Time): Time {
  return (typeof time === 'string' ? new Date(time).toISOString() : time) as Time;
}

/** The members that are there: a change leaves alone what it does not name. */
export function given<Members extends object>(
  members: Members,
): { [Name in keyof Members]?: Exclude<Members[Name], undefined> } {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined);
  // Only members that are there went in, so none is undefined.
  return Object.fromEntries(entries) as { [Name in keyof Members]?: Exclude<Members[Name], undefined> };
}
