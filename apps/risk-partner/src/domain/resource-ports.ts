import type { FrameworkRef } from './control.ts';
import type { Evidence } from './evidence.ts';
import type { RowScope } from './caller.ts';
import type { Doc, KindName } from './resource.ts';

/** A stored document; `n` is the value of If-Match. */
export interface Row<D extends Doc = Doc> {
  readonly n: number;
  readonly doc: D;
}

/** The place of a row in a walk: by time, then by id in code points. */
export interface Position {
  readonly createdAt: string;
  readonly id: string;
}

/** What one read may see and how much. */
export interface RowPage {
  readonly limit: number;
  readonly after: Position | undefined;
  /** By name; `ownerId` besides those of the partner lists. */
  readonly filters: Readonly<Record<string, string>>;
  /** The moment at which the state of evidence is judged: milliseconds since the epoch. */
  readonly nowMs: number;
}

/** Reads for the dashboard. Every one of them sees what the scope lets it see. */
export interface ResourceReads {
  list(kind: KindName, scope: RowScope, page: RowPage): Promise<Row[]>;
  find(kind: KindName, id: string, scope: RowScope): Promise<Row | undefined>;
  /** Those of the ids that are there and may be seen. */
  seen(kind: KindName, ids: readonly string[], scope: RowScope): Promise<ReadonlySet<string>>;
}

/** Who did what, for the audit. */
export interface Deed {
  readonly actorId: string;
  readonly action: string;
  readonly resource: string;
  readonly resourceId: string;
  readonly requestId: string;
}

/** One change of an organisation's data: all of it is written, or nothing. Changes of one organisation take turns. */
export interface WriteUnit {
  /** The revision that this change makes. */
  readonly revision: number;
  /** Milliseconds since the epoch; never before an earlier change of the organisation. */
  readonly nowMs: number;
  /** Without a scope, whatever the row: for rows that follow from one the caller may see. */
  find(kind: KindName, id: string, scope?: RowScope): Promise<Row | undefined>;
  seen: ResourceReads['seen'];
  /** Rows of the kind that carry this facet, at most a thousand. */
  withFacet(kind: KindName, facet: string): Promise<Row[]>;
  isMember(personId: string): Promise<boolean>;
  /** The row of coverage of each reference, undefined where there is no such requirement. */
  coverageIds(refs: readonly FrameworkRef[]): Promise<(string | undefined)[]>;
  /** Writes a new row, or one in the place of `before`. */
  put(kind: KindName, row: Row, before?: Row): Promise<void>;
  remove(kind: KindName, row: Row): Promise<void>;
  /** Puts the fingerprint into the outbox of the ledger. */
  anchor(evidence: Evidence): Promise<void>;
  /** Writes the audit event; `about` is the row as row filters see it. */
  record(deed: Deed, about?: { readonly kind: KindName; readonly doc: Doc }): Promise<void>;
}

export interface ResourceWrites {
  run<Result>(orgId: string, work: (unit: WriteUnit) => Promise<Result>): Promise<Result>;
}
