import { sealPartnerEnvelope, type PartnerEnvelopeParts } from '@sealgate/envelope';
import { listQuery, routeFor, type Reply, type Route } from '@sealgate/http';
import { sha256 } from '@sealgate/json';
import { parseLimit } from '@sealgate/paging';
import type { RiskCaller } from '../domain/caller.ts';
import { MOST_PAGE_ITEMS, readItem, readPage, type PartnerPorts } from '../domain/read-partner.ts';
import { ofId } from '../schemas.ts';
import { CATALOGUE, itemEnvelope, listEnvelope, type PartnerCollection } from './partner-schemas.ts';

const route = routeFor<RiskCaller>();

export const PARTNER_LIST_RANGE = { default: 50, max: MOST_PAGE_ITEMS } as const;

export interface PartnerRoutePorts {
  readonly partner: PartnerPorts;
  /** A detached JWS over exactly these bytes. */
  readonly sign: (bytes: Uint8Array) => Promise<string>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

const base = { method: 'get', charge: 1, idempotency: 'none' } as const;
const headers = {
  'Evidence-Signature': 'A detached JWS (RFC 7515, appendix F; EdDSA) over the bytes that were hashed.',
  ETag: 'Strong: over the items, and whether there is a next page.',
};
const notModified = { description: 'Unchanged since the ETag that was sent.', headers: { ETag: headers.ETag } };

/** The list and the single item of every collection, by name. */
export function partnerRoutes(ports: PartnerRoutePorts): PartnerRouteTable {
  return new Map(CATALOGUE.map((collection) => [collection.name, routesOf(collection, ports)]));
}

/** The routes of each collection, so that tools can be made of the very same. */
export type PartnerRouteTable = ReadonlyMap<
  string,
  { readonly list: Route<RiskCaller>; readonly item: Route<RiskCaller> }
>;

function routesOf(collection: PartnerCollection, ports: PartnerRoutePorts) {
  const { name, atSnapshot } = collection;
  const permit = `partner:read or ${collection.resource}:read`;
  const list = route({
    ...base,
    permit,
    path: `/api/v1/${name}`,
    operationId: `list_${name}`,
    summary: `List ${name}, oldest first`,
    tags: ['partner'],
    query: listQuery(PARTNER_LIST_RANGE, collection.filters),
    responses: {
      200: { description: 'A page, signed.', schema: listEnvelope(collection.item), headers },
      304: notModified,
    },
    errors: atSnapshot ? ['NOT_FOUND', 'SNAPSHOT_EXPIRED'] : [],
    async handler(context) {
      const { caller } = context;
      // The schema of the query holds texts alone.
      const { limit, cursor, snapshotId, ...filters } = context.query as Readonly<Record<string, string>>;
      const asked = { limit: parseLimit(limit, PARTNER_LIST_RANGE), cursor, snapshotId };
      const page = await readPage(ports.partner, caller, { collection: name, atSnapshot, filters, ...asked });
      const pagination = { limit: page.limit, count: page.count, nextCursor: page.nextCursor };
      const etag = etagOf(page.texts, page.nextCursor !== null);
      return answer(ports, caller, {
        etag,
        known: context.header('if-none-match'),
        content: { items: page.texts, pagination },
        snapshotId: page.snapshotId,
      });
    },
  });
  const item = route({
    ...base,
    permit,
    path: `/api/v1/${name}/:id`,
    operationId: `get_${name}`,
    summary: `Read one of the ${name}`,
    tags: ['partner'],
    params: ofId,
    responses: {
      200: { description: 'The item, signed.', schema: itemEnvelope(collection.item), headers },
      304: notModified,
    },
    errors: [],
    async handler(context) {
      const { caller } = context;
      // A path with a parameter has it.
      const { id } = context.params;
      const found = await readItem(ports.partner, caller, { collection: name, atSnapshot, id });
      return answer(ports, caller, {
        etag: etagOf([found.item], false),
        known: context.header('if-none-match'),
        content: { item: found.item },
        snapshotId: found.snapshotId,
      });
    },
  });
  return { list, item };
}

function etagOf(items: readonly string[], hasMore: boolean): string {
  return `"${sha256(`${hasMore ? '+' : '.'}${items.join(',')}`).toString('base64url')}"`;
}

interface Answering extends Pick<PartnerEnvelopeParts, 'content' | 'snapshotId'> {
  readonly etag: string;
  /** If-None-Match as it was sent. */
  readonly known: string | undefined;
}

async function answer({ sign, now }: PartnerRoutePorts, { orgId }: RiskCaller, answering: Answering): Promise<Reply> {
  const { etag, known, ...parts } = answering;
  const caching = { ETag: etag, 'Cache-Control': 'private, no-cache', Vary: 'Authorization' };
  if (known !== undefined && isKnown(known, etag)) return { status: 304, headers: caching };
  const { bytes, hashedBytes } = sealPartnerEnvelope({ ...parts, orgId, generatedAt: new Date(now()).toISOString() });
  return { status: 200, body: bytes, headers: { ...caching, 'Evidence-Signature': await sign(hashedBytes) } };
}

/** RFC 9110, section 13.1.2: any of them, compared weakly. */
function isKnown(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch.trim() === '*') return true;
  return ifNoneMatch.split(',').some((one) => one.trim().replace(/^W\//, '') === etag);
}
