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
  /** Words to search for; undefined: none. */
  readonly q?: string | undefined;
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

/** A list for a caller of whom may be told whether they are still the same. */
export interface PartnerJoinedQuery extends PartnerListQuery {
  readonly confirming: RiskCaller | undefined;
}

/** The items of one page. */
export interface PartnerItems {
  /** Canonical texts in order. One text may be several items joined by commas. */
  readonly texts: readonly string[];
  readonly count: number;
  /** The position of the last item if more follow, else undefined. */
  readonly continuesAfter: Position | undefined;
  /** Whether the caller was still the same when the items were read; false: unknown. */
  readonly isConfirmed: boolean;
}

/** Reads the items of one collection, always within the caller's scope. */
export interface PartnerSource {
  list(scope: RowScope, query: PartnerListQuery): Promise<PartnerItem[]>;
  /** Like `list`, as a page joined by the database; undefined if items must be handled one by one. */
  listJoined?(scope: RowScope, query: PartnerJoinedQuery): Promise<PartnerItems | undefined>;
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

/** The rows that callers name, within their scope. */
export interface NamedRows {
  isVisible(scope: RowScope, kind: NamedKind, id: string): Promise<boolean>;
  /** The ids of the visible rows with this `refId`, in order. */
  idsByRef(scope: RowScope, kind: RefKind, refId: string, limit: number): Promise<string[]>;
}

type NamedKind = 'framework' | 'control' | 'evidence';
/** The kinds with a `refId`. */
export type RefKind = 'risk' | 'asset' | 'control';

export interface PartnerPorts {
  readonly rows: NamedRows;
  readonly sources: Readonly<Record<string, PartnerSource>>;
  readonly snapshots: SnapshotReads;
  readonly cursors: Cursors;
}

export interface PartnerPage extends Pick<PartnerItems, 'texts' | 'count' | 'isConfirmed'> {
  readonly limit: number;
  readonly nextCursor: string | null;
  readonly snapshotId: string | undefined;
}

interface PageRequest {
  readonly collection: string;
  /** Read at one revision, which the response names and the cursor keeps. */
  readonly atSnapshot: boolean;
  readonly limit: number;
  /** Upper bound of the whole answer, and what an item adds to it. A page has at least one item all the same. */
  readonly size?: { readonly maxBytes: number; readonly bytesOf: (item: string) => number } | undefined;
  readonly cursor: string | undefined;
  readonly snapshotId: string | undefined;
  readonly filters: Readonly<Record<string, string>>;
  readonly q: string | undefined;
  readonly nowMs: number;
  /** The caller was looked up earlier, and is to be confirmed. */
  readonly isProvisional: boolean;
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
 * @throws AppError INVALID_CURSOR, NOT_FOUND or SNAPSHOT_EXPIRED for the snapshot, NOT_FOUND for a filter that names no
 *   visible row.
 */
export async function readPage(ports: PartnerPorts, caller: RiskCaller, request: PageRequest): Promise<PartnerPage> {
  const { collection, atSnapshot, limit, size, filters, q, nowMs } = request;
  const scope = rowScopeOf(caller);
  const bound = q === undefined ? filters : { ...filters, q };
  const named = Object.entries(bound).map(([name, value]) => `${name}=${value}`);
  const binding = [`${collection}.v1`, caller.orgId, caller.personId, ...named.sort()];
  const from = request.cursor === undefined ? undefined : placeOf(ports.cursors.read(binding, request.cursor));
  const revision = atSnapshot ? await revisionFor(ports, scope, request, from?.revision) : undefined;
  const source = ports.sources[collection]!;
  const query = { filters, q, revision, limit, after: from, nowMs };
  const confirming = request.isProvisional ? caller : undefined;
  const joined = size === undefined ? await source.listJoined?.(scope, { ...query, confirming }) : undefined;
  // One item more than the page tells whether there is a next page.
  const {
    texts,
    count,
    continuesAfter: last,
    isConfirmed,
  } = joined ?? itemsOf(await source.list(scope, { ...query, limit: limit + 1 }), { limit, size });
  // A page with items shows that the named rows exist.
  if (count === 0) await requireNamedRows(ports.rows, scope, filters);
  return {
    texts,
    count,
    isConfirmed,
    limit,
    nextCursor: last === undefined ? null : ports.cursors.make(binding, [last.createdAt, last.id, revision ?? null]),
    snapshotId: revision === undefined ? undefined : snapshotIdOf(revision),
  };
}

function itemsOf(found: readonly PartnerItem[], { limit, size }: Pick<PageRequest, 'limit' | 'size'>): PartnerItems {
  const within = found.slice(0, limit);
  let bytes = ENVELOPE_BYTES;
  const tooMany = within.findIndex(({ text }, index) => {
    if (size === undefined) return false;
    bytes += size.bytesOf(`${text},`);
    return bytes > size.maxBytes && index > 0;
  });
  const shown = tooMany < 0 ? within : within.slice(0, tooMany);
  return {
    texts: shown.map(({ text }) => text),
    count: shown.length,
    continuesAfter: found.length > shown.length ? shown.at(-1) : undefined,
    isConfirmed: false,
  };
}

/**
 * What surrounds the items in a message: the members of the envelope (twice, with a cursor of up to 512 bytes), the
 * signature, and JSON-RPC.
 */
const ENVELOPE_BYTES = 3_500;

/** The filters that name a row by its id, and the kind of that row. */
const NAMED_BY = { framework: 'framework', controlId: 'control', subjectId: 'evidence' } as const;
export const NAMING_FILTERS = Object.keys(NAMED_BY) as readonly (keyof typeof NAMED_BY)[];

/**
 * An empty list would say that a row has nothing, where there is no such row; and a row of another kind, which may be hidden,
 * would show what names it.
 * @throws AppError NOT_FOUND, the same for a missing and a hidden row.
 */
export async function requireNamedRows(
  rows: Pick<NamedRows, 'isVisible'>,
  scope: RowScope,
  filters: PartnerQuery['filters'],
): Promise<void> {
  for (const name of NAMING_FILTERS) {
    const id = filters[name];
    if (id === undefined || (await rows.isVisible(scope, NAMED_BY[name], id))) continue;
    const faults = [{ in: 'query' as const, pointer: `/${name}`, detail: `names no ${NAMED_BY[name]}` }];
    throw new AppError('NOT_FOUND', `The ${name} names no ${NAMED_BY[name]} that this key may see.`, { faults });
  }
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
