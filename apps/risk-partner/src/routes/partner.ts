import { sealPartnerEnvelope, type PartnerEnvelopeParts } from '@sealgate/envelope';
import {
  bytesAsToolResult,
  isKnownTag,
  listQuery,
  routeFor,
  searchParameter,
  weakTag,
  type HandlerContext,
  type Reply,
  type Route,
} from '@sealgate/http';
import { sha256 } from '@sealgate/json';
import { parseLimit } from '@sealgate/paging';
import type { RiskCaller } from '../domain/caller.ts';
import {
  MAX_PAGE_ITEMS,
  NAMING_FILTERS,
  readItem,
  readPage,
  type PartnerPage,
  type PartnerPorts,
} from '../domain/read-partner.ts';
import { ofId } from '../schemas.ts';
import { CATALOGUE, itemEnvelope, listEnvelope, type PartnerCollection } from './partner-schemas.ts';

const route = routeFor<RiskCaller>();

const PARTNER_LIST_RANGE = { default: 50, max: MAX_PAGE_ITEMS } as const;

export interface PartnerRoutePorts {
  readonly partner: PartnerPorts;
  /** Makes a detached JWS over exactly these bytes. */
  readonly sign: (bytes: Uint8Array) => Promise<string>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

const base = { method: 'get', charge: 1, idempotency: 'none' } as const;
/** Tools pass its value on in `_meta`. */
export const SIGNATURE_HEADER = 'Evidence-Signature';

const headers = {
  [SIGNATURE_HEADER]: 'A detached JWS (RFC 7515, appendix F; EdDSA) over the bytes that were hashed.',
  ETag: 'Weak, as generatedAt differs: over the items, the snapshotId, and whether there is a next page. If there is one, the tag changes every twelve hours.',
};
const requestHeaders = { 'If-None-Match': 'Known ETags; 304 if one is current.' };
const notModified = { description: 'Unchanged since the ETag that was sent.', headers: { ETag: headers.ETag } };

/** The list route and the item route of every collection, by name. */
export function partnerRoutes(ports: PartnerRoutePorts): PartnerRouteTable {
  return new Map(CATALOGUE.map((collection) => [collection.name, routesOf(collection, ports)]));
}

/** The routes of each collection; tools wrap the same routes. */
export type PartnerRouteTable = ReadonlyMap<
  string,
  { readonly list: Route<RiskCaller>; readonly item: Route<RiskCaller> }
>;

function routesOf(collection: PartnerCollection, ports: PartnerRoutePorts) {
  const { name, atSnapshot } = collection;
  const permit = `partner:read or ${collection.resource}:read`;
  const list = route({
    ...base,
    looks: true,
    // The statement of a page confirms them.
    ...(atSnapshot ? {} : { confirmsCaller: true }),
    permit,
    path: `/api/v1/${name}`,
    operationId: `list_${name}`,
    summary: `List ${name}, oldest first`,
    tags: ['partner'],
    query: listQuery(PARTNER_LIST_RANGE, {
      ...collection.filters,
      ...(collection.isSearched && { q: searchParameter }),
    }),
    requestHeaders,
    responses: {
      200: { description: 'A page, signed.', schema: listEnvelope(collection.item), headers },
      304: notModified,
    },
    errors: errorsOfList(collection),
    async handler(context) {
      const { caller } = context;
      const nowMs = ports.now();
      // The query schema declares strings only.
      const { limit, cursor, snapshotId, q, ...filters } = context.query as Readonly<Record<string, string>>;
      const { pageMaxBytes } = context;
      const size = pageMaxBytes === undefined ? undefined : { maxBytes: pageMaxBytes, bytesOf: bytesAsToolResult };
      const { isProvisional } = context;
      const asked = { limit: parseLimit(limit, PARTNER_LIST_RANGE), size, cursor, snapshotId, nowMs, isProvisional };
      const page = await readPage(ports.partner, caller, { collection: name, atSnapshot, filters, q, ...asked });
      if (page.isConfirmed) context.callerIsConfirmed();
      const pagination = { limit: page.limit, count: page.count, nextCursor: page.nextCursor };
      return answer(ports, context, {
        nowMs,
        etag: () => etagOf(page.texts, { ...page, nowMs }),
        content: { items: page.texts, pagination },
        snapshotId: page.snapshotId,
      });
    },
  });
  const item = route({
    ...base,
    // Coverage is computed of many rows.
    ...(atSnapshot ? { looks: true } : {}),
    permit,
    path: `/api/v1/${name}/:id`,
    operationId: `get_${name}`,
    summary: `Read one of the ${name}`,
    tags: ['partner'],
    params: ofId,
    requestHeaders,
    responses: {
      200: { description: 'The item, signed.', schema: itemEnvelope(collection.item), headers },
      304: notModified,
    },
    errors: [],
    async handler(context) {
      const { caller } = context;
      const { id } = context.params;
      const nowMs = ports.now();
      const found = await readItem(ports.partner, caller, { collection: name, atSnapshot, id, nowMs });
      return answer(ports, context, {
        nowMs,
        etag: () => etagOf([found.item], { ...found, nextCursor: null, nowMs }),
        content: { item: found.item },
        snapshotId: found.snapshotId,
      });
    },
  });
  return { list, item };
}

/** Filters that name a row refuse the id of none, as a path does. */
const errorsOfList = ({ atSnapshot, filters }: PartnerCollection) => [
  ...(atSnapshot || NAMING_FILTERS.some((name) => name in filters) ? (['NOT_FOUND'] as const) : []),
  ...(atSnapshot ? (['SNAPSHOT_EXPIRED'] as const) : []),
];

/** Half of a cursor's lifetime. */
const CURSOR_FRESH_MS = 43_200_000;

/** A cached response contains a cursor and a snapshot id, which expire, so the tag changes before either does. */
function etagOf(
  items: readonly string[],
  { nextCursor, snapshotId, nowMs }: Pick<PartnerPage, 'nextCursor' | 'snapshotId'> & { readonly nowMs: number },
): string {
  const next = nextCursor === null ? '' : Math.floor(nowMs / CURSOR_FRESH_MS);
  // Hashed alone: put into a longer text, a page would be copied first.
  const hash = sha256(items.length === 1 ? items[0]! : items.join(',')).toString('base64url');
  return weakTag(`${next}.${snapshotId ?? ''}.${hash}`);
}

interface Answering extends Pick<PartnerEnvelopeParts, 'content' | 'snapshotId'> {
  /** The time that the items were computed for. */
  readonly nowMs: number;
  readonly etag: () => string;
}

/** The sealed envelope with its signature; a response by HTTP has an ETag as well. */
async function answer(
  { sign }: PartnerRoutePorts,
  context: Pick<
    HandlerContext<RiskCaller, unknown, unknown, unknown>,
    'caller' | 'header' | 'isToolCall' | 'requestId'
  >,
  { nowMs, etag, ...parts }: Answering,
): Promise<Reply> {
  const seal = () =>
    sealPartnerEnvelope({ ...parts, orgId: context.caller.orgId, generatedAt: new Date(nowMs).toISOString() });
  const caching = context.isToolCall
    ? {}
    : { ETag: etag(), 'Cache-Control': 'private, no-cache', Vary: 'Authorization' };
  const { ETag: tag } = caching;
  if (tag !== undefined && isKnownTag(context.header('if-none-match'), tag)) return { status: 304, headers: caching };
  const { bytes, hashedBytes } = seal();
  return { status: 200, body: bytes, headers: { ...caching, [SIGNATURE_HEADER]: await sign(hashedBytes) } };
}
