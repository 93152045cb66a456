import { AppError } from '@sealgate/errors';
import type { JsonValue } from '@sealgate/json';
import { rowScopeOf, type RiskCaller, type RowScope } from './caller.ts';
import { noSuchRow } from './manage-resources.ts';
import type { Position } from './resource-ports.ts';

/** One item: its position in the list, and its canonical text at this time. */
export interface PartnerItem extends Position {
  readonly text: string;
}

export interface PartnerQuery {
  /** By parameter name, validated. */
  readonly filters: Readonly<Record<string, string>>;
  /** The revision to read, for collections with `atSnapshot`. */
  readonly revision: number | undefined;
  /** Milliseconds since the epoch: the time that the whole response is computed for. */
  readonly nowMs: number;
}

/** Maximum page size. */
export const MAX_PAGE_ITEMS = 200;

export interface PartnerListQuery extends PartnerQuery {
  /** Maximum number of items: at most the page size plus one. */
  readonly limit: number;
  readonly after: Position | undefined;
}

/** The items of one page. */
export interface PartnerItems {
  /** Canonical texts in order. One text may be several items joined by commas. */
  readonly texts: readonly string[];
  readonly count: number;
  /** The position of the last item if more follow, else undefined. */
  readonly continuesAfter: Position | undefined;
}

/** Reads the items of one collection, always within the caller's scope. */
export interface PartnerSource {
  list(scope: RowScope, query: PartnerListQuery): Promise<PartnerItem[]>;
  /** Like `list`, as a page joined by the database; undefined if items must be handled one by one. */
  listJoined?(scope: RowScope, query: PartnerListQuery): Promise<PartnerItems | undefined>;
  find(scope: RowScope, id: string, query: Pick<PartnerQuery, 'revision' | 'nowMs'>): Promise<PartnerItem | undefined>;
}

/** The revisions that a caller may know of: those with a change visible to the caller. */
export interface SnapshotReads {
  newest(scope: RowScope, nowMs: number): Promise<number>;
  /** Expired: it existed and can no longer be read. */
  state(scope: RowScope, revision: number, nowMs: number): Promise<'live' | 'expired' | 'unknown'>;
}

/** Makes and reads cursors bound to a list. */
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
  /** Read at one revision, which the response names and the cursor keeps. */
  readonly atSnapshot: boolean;
  readonly limit: number;
  readonly cursor: string | undefined;
  readonly snapshotId: string | undefined;
  readonly filters: Readonly<Record<string, string>>;
  readonly nowMs: number;
}

const SNAPSHOT_ID = /^snap_(\d{12})$/;

export const snapshotIdOf = (revision: number): string => `snap_${String(revision).padStart(12, '0')}`;

/** The revision of a snapshot id; undefined if the id is malformed. */
export function revisionOf(snapshotId: string): number | undefined {
  const digits = SNAPSHOT_ID.exec(snapshotId)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/**
 * One page ordered by (createdAt, id). It continues from the values in the cursor, whether or not that row still
 * exists.
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
  // One item more than the page tells whether there is a next page.
  const {
    texts,
    count,
    continuesAfter: last,
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
    continuesAfter: found.length > limit ? shown.at(-1) : undefined,
  };
}

/** @throws AppError NOT_FOUND, also for a hidden row. */
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

/** A position that `readPage` put into a cursor; the codec has verified it. */
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
  const requested = snapshotId === undefined ? undefined : (revisionOf(snapshotId) ?? null);
  if (pinned !== undefined && requested !== undefined && requested !== pinned) {
    const detail = 'The cursor belongs to another snapshot.';
    throw new AppError('INVALID_CURSOR', detail, { faults: [{ in: 'query', pointer: '/cursor', detail }] });
  }
  const wanted = pinned ?? requested;
  if (wanted === undefined) return snapshots.newest(scope, nowMs);
  const state = wanted === null ? 'unknown' : await snapshots.state(scope, wanted, nowMs);
  if (state === 'expired')
    throw new AppError('SNAPSHOT_EXPIRED', 'This snapshot was replaced more than a day ago; start again.');
  if (wanted === null || state === 'unknown') throw new AppError('NOT_FOUND', 'There is no such snapshot.');
  return wanted;
}
