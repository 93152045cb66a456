import type { Sorting } from '@sealgate/paging';
import type { FrameworkRef } from './control.ts';
import type { RowScope } from './caller.ts';
import type { Evidence } from './evidence.ts';
import type { Doc, FormerRating, KindName, SortField } from './resource.ts';

/** A stored document; `n` is the value of If-Match. */
export interface Row<D extends Doc = Doc> {
  readonly n: number;
  readonly doc: D;
  /** Of a risk that got worse since the time that a list asks for: its current rating at that time. */
  readonly previous?: FormerRating;
}

/** The position of a row in a list: by time, then by id in code points. */
export interface Position {
  readonly createdAt: string;
  readonly id: string;
}

/** The place of a row in a sorted list: the value of the field, then the id in code points. */
export interface Place {
  readonly value: string | number | null;
  readonly id: string;
}

/** The rows that a list asks for, and their order. */
export interface RowsAsked {
  /** By name: those of the partner lists, and `ownerId`. */
  readonly filters: Readonly<Record<string, string>>;
  readonly q: string | undefined;
  readonly sorting: Sorting<SortField>;
  /** The time at which the state of evidence is computed: milliseconds since the epoch. */
  readonly nowMs: number;
}

/** One page of rows. */
export interface RowPage extends RowsAsked {
  readonly limit: number;
  readonly after: Place | undefined;
}

export interface ListedRows {
  /** The places of the page, each with its row; undefined if it was removed meanwhile. */
  readonly found: readonly { readonly place: Place; readonly row: Row | undefined }[];
  /** How many rows are asked for, COUNT_LIMIT at most. */
  readonly counted: number;
}

/** Reads for the dashboard, always within the scope. */
export interface ResourceReads {
  list(kind: KindName, scope: RowScope, page: RowPage): Promise<ListedRows>;
  /** All rows that are asked for, in steps, between which no connection is held. */
  pages(kind: KindName, scope: RowScope, asked: RowsAsked): AsyncIterable<Row[]>;
  find(kind: KindName, id: string, scope: RowScope): Promise<Row | undefined>;
  /** The ids that exist and are visible. */
  visible(kind: KindName, ids: readonly string[], scope: RowScope): Promise<ReadonlySet<string>>;
}

/** An action, for the audit. */
export interface AuditEntry {
  readonly actorId: string;
  readonly action: string;
  readonly resource: string;
  readonly resourceId: string;
  readonly requestId: string;
}

/** One change of an organisation's data, as a transaction. Changes of one organisation are serialised. */
export interface WriteUnit {
  /** The revision of this change. */
  readonly revision: number;
  /** Milliseconds since the epoch; never before an earlier change of the organisation. */
  readonly nowMs: number;
  /** Without a scope it finds every row: for rows reached from one that the caller may see. */
  find(kind: KindName, id: string, scope?: RowScope): Promise<Row | undefined>;
  visible: ResourceReads['visible'];
  /** Rows of the kind with this facet, at most a thousand. */
  withFacet(kind: KindName, facet: string): Promise<Row[]>;
  isMember(personId: string): Promise<boolean>;
  /** The coverage row of each reference; undefined if there is no such requirement. */
  coverageIds(refs: readonly FrameworkRef[]): Promise<(string | undefined)[]>;
  /** Inserts a row, or updates `before`. */
  put(kind: KindName, row: Row, before?: Row): Promise<void>;
  remove(kind: KindName, row: Row): Promise<void>;
  /** Adds the fingerprint to the outbox of the ledger. Returns the id that its record will have. */
  anchor(evidence: Evidence): Promise<string>;
  /** Writes the audit event; `about` gives the attributes for row filters. */
  record(entry: AuditEntry, about?: { readonly kind: KindName; readonly doc: Doc }): Promise<void>;
}

export interface ResourceWrites {
  run<Result>(orgId: string, work: (unit: WriteUnit) => Promise<Result>): Promise<Result>;
}

/** An audit event as the dashboard shows it. */
export interface AuditEvent {
  readonly id: string;
  readonly at: string;
  readonly actorId: string;
  readonly action: string;
  readonly resource: string;
  readonly resourceId: string;
  /** Why it cannot be taken as written by this service; absent if it can. */
  readonly problem?: string;
}

/** The events that are asked for; `to` is not one of the period. */
export interface AuditFilters {
  readonly actorId?: string | undefined;
  readonly action?: string | undefined;
  readonly resource?: string | undefined;
  readonly resourceId?: string | undefined;
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
}

/** An event, and its position for paging. */
export interface ListedEvent {
  readonly event: AuditEvent;
  readonly position: string;
}

/** Events of the organisation, newest first, without those of hidden rows. */
export interface AuditReads {
  list(
    scope: RowScope,
    page: {
      readonly limit: number;
      readonly before: { readonly position: string; readonly id: string } | undefined;
      readonly filters: AuditFilters;
    },
  ): Promise<ListedEvent[]>;
  /** How many there are, COUNT_LIMIT at most. */
  count(scope: RowScope, filters: AuditFilters): Promise<number>;
  /** All of them, in steps. */
  pages(scope: RowScope, filters: AuditFilters): AsyncIterable<readonly ListedEvent[]>;
}
