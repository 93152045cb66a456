import { AppError } from '@sealgate/errors';
import type { JsonValue } from '@sealgate/json';
import { rowScopeOf, type RiskCaller, type RowScope } from './caller.ts';
import { noSuchRow } from './manage-resources.ts';
import type { Position } from './resource-ports.ts';

/** One item: its place in the walk, and its canonical text as it is shown now. */
export interface PartnerItem extends Position {
  readonly text: string;
}

export interface PartnerQuery {
  /** By the names of the parameters, already checked. */
  readonly filters: Readonly<Record<string, string>>;
  /** The revision to read, for collections that are read at one. */
  readonly revision: number | undefined;
  /** Milliseconds since the epoch: the one moment of the answer, by which all of it is judged. */
  readonly nowMs: number;
}

/** The most items of one page. */
export const MOST_PAGE_ITEMS = 200;

export interface PartnerListQuery extends PartnerQuery {
  /** The most items; at most one more than a page has. */
  readonly limit: number;
  readonly after: Position | undefined;
}

/** The items of one page. */
export interface PartnerItems {
  /** Canonical texts in the order of the items. Several items may be one text, joined by commas. */
  readonly texts: readonly string[];
  readonly count: number;
  /** The place of the last item where more follow it, else undefined. */
  readonly goesOnAfter: Position | undefined;
}

/** Where the items of one collection come from. All see what the scope lets them see, and nothing else. */
export interface PartnerSource {
  list(scope: RowScope, query: PartnerListQuery): Promise<PartnerItem[]>;
  /** The same as a page that the database has joined; undefined where items have to be looked at one by one. */
  listJoined?(scope: RowScope, query: PartnerListQuery): Promise<PartnerItems | undefined>;
  find(scope: RowScope, id: string, query: Pick<PartnerQuery, 'revision' | 'nowMs'>): Promise<PartnerItem | undefined>;
}

/** The revisions of an organisation as a caller may know them: those in which something that caller may see changed. */
export interface SnapshotReads {
  newest(scope: RowScope, nowMs: number): Promise<number>;
  /** Expired: it was one, and can no longer be read. */
  state(scope: RowScope, revision: number, nowMs: number): Promise<'live' | 'expired' | 'unknown'>;
}

/** A cursor over places in a walk. */
export interface Cursors {
  make(binding: readonly string[], position: JsonValue): string;
  read(binding: readonly string[], cursor: string): JsonValue;
}

export interface PartnerPorts {
  readonly sources: Readonly<Record<string, PartnerSource>>;
  readonly snapshots: SnapshotReads;
  readonly cursors: Cursors;
}

export interface PartnerPage extends Pick<PartnerItems, 'texts' | 'count'> {
  readonly limit: number;
  readonly nextCursor: string | null;
  readonly snapshotId: string | undefined;
}

export interface PageRequest {
  readonly collection: string;
  /** Read at one revision, which the answer names and the cursor keeps. */
  readonly atSnapshot: boolean;
  readonly limit: number;
  readonly cursor: string | undefined;
  readonly snapshotId: string | undefined;
  readonly filters: Readonly<Record<string, string>>;
  readonly nowMs: number;
}

const SNAPSHOT_ID = /^snap_(\d{12})$/;

export const snapshotIdOf = (revision: number): string => `snap_${String(revision).padStart(12, '0')}`;

/** The revision that an id names, or undefined when no id of ours looks like that. */
export function revisionOf(snapshotId: string): number | undefined {
  const digits = SNAPSHOT_ID.exec(snapshotId)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/**
 * One page of a walk in the order of (createdAt, id). It goes on from the values in the cursor, whether or not the row
 * they were taken from is still there.
 * @throws AppError INVALID_CURSOR, NOT_FOUND or SNAPSHOT_EXPIRED for the snapshot.
 */
export async function readPage(ports: PartnerPorts, caller: RiskCaller, request: PageRequest): Promise<PartnerPage> {
  const { collection, atSnapshot, limit, filters, nowMs } = request;
  const scope = rowScopeOf(caller);
  const named = Object.entries(filters).map(([name, value]) => `${name}=${value}`);
  const binding = [`${collection}.v1`, caller.orgId, caller.personId, ...named.sort()];
  const from = request.cursor === undefined ? undefined : placeOf(ports.cursors.read(binding, request.cursor));
  const revision = atSnapshot ? await revisionFor(ports, scope, request, from?.revision) : undefined;
  const source = ports.sources[collection]!;
  const query = { filters, revision, limit, after: from, nowMs };
  const joined = await source.listJoined?.(scope, query);
  // One more than the page has tells whether there is a next one.
  const {
    texts,
    count,
    goesOnAfter: last,
  } = joined ?? itemsOf(await source.list(scope, { ...query, limit: limit + 1 }), limit);
  return {
    texts,
    count,
    limit,
    nextCursor: last === undefined ? null : ports.cursors.make(binding, [last.createdAt, last.id, revision ?? null]),
    snapshotId: revision === undefined ? undefined : snapshotIdOf(revision),
  };
}

function itemsOf(found: readonly PartnerItem[], limit: number): PartnerItems {
  const shown = found.slice(0, limit);
  return {
    texts: shown.map(({ text }) => text),
    count: shown.length,
    goesOnAfter: found.length > limit ? shown.at(-1) : undefined,
  };
}

/** @throws AppError NOT_FOUND, also for a row the caller may not see. */
export async function readItem(
  ports: PartnerPorts,
  caller: RiskCaller,
  {
    collection,
    atSnapshot,
    id,
    nowMs,
  }: Pick<PageRequest, 'collection' | 'atSnapshot' | 'nowMs'> & { readonly id: string },
): Promise<{ item: string; snapshotId: string | undefined }> {
  const scope = rowScopeOf(caller);
  const revision = atSnapshot ? await ports.snapshots.newest(scope, nowMs) : undefined;
  const item = await ports.sources[collection]!.find(scope, id, { revision, nowMs });
  if (item === undefined) throw noSuchRow();
  return { item: item.text, snapshotId: revision === undefined ? undefined : snapshotIdOf(revision) };
}

type Place = Position & { readonly revision: number | undefined };

/** A position that `readPage` put into a cursor; its signature has been checked. */
function placeOf(position: JsonValue): Place {
  const [createdAt, id, revision] = position as [string, string, number | null];
  return { createdAt, id, revision: revision ?? undefined };
}

async function revisionFor(
  { snapshots }: PartnerPorts,
  scope: RowScope,
  { snapshotId, nowMs }: Pick<PageRequest, 'snapshotId' | 'nowMs'>,
  pinned: number | undefined,
): Promise<number> {
  const asked = snapshotId === undefined ? undefined : (revisionOf(snapshotId) ?? null);
  if (pinned !== undefined && asked !== undefined && asked !== pinned) {
    const detail = 'The cursor is of another snapshot.';
    throw new AppError('INVALID_CURSOR', detail, { faults: [{ in: 'query', pointer: '/cursor', detail }] });
  }
  const wanted = pinned ?? asked;
  if (wanted === undefined) return snapshots.newest(scope, nowMs);
  const state = wanted === null ? 'unknown' : await snapshots.state(scope, wanted, nowMs);
  if (state === 'expired') throw new AppError('SNAPSHOT_EXPIRED', 'This snapshot is older than a day; begin anew.');
  if (wanted === null || state === 'unknown') throw new AppError('NOT_FOUND', 'There is no such snapshot.');
  return wanted;
}
