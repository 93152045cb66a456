import {
  AUDIT_PROBLEMS,
  type AuditEvent,
  type AuditQuery,
  type DocumentSigner,
  HEAD_HASH_DIGITS,
  sealAuditPage,
} from '@sealgate/envelope';
import { type Route, enumOf, instantText, lineOfText, listQuery, named, orNull } from '@sealgate/http';
import { defined, instantOf, type JsonValue } from '@sealgate/json';
import type { CursorCodec } from '@sealgate/paging';
import { type TSchema, Type } from '@sinclair/typebox';
import { adminBase, type AdminCaller, adminRoute, type NamesOfActors } from './admin-app.ts';
import { LIST_RANGE, listRoute, period, periodText, readPage } from './list-route.ts';

export interface AdminAuditPorts {
  readonly cursors: CursorCodec;
  /** See `AuditTrail.list`. */
  readonly listAudit: (query: AuditQuery) => Promise<readonly AuditEvent[]>;
  /** See `AuditTrail.count`. */
  readonly countAudit: (query: Omit<AuditQuery, 'limit' | 'after'>) => Promise<number>;
  readonly actorNames: NamesOfActors;
  /** Exported pages name the surface and are signed by the first signer; the keys of all are published. */
  readonly auditSigning: { readonly surface: string; readonly signers: readonly DocumentSigner[] };
  readonly now: () => number;
  /** Spelling of two-word members; default `camelCase`. */
  readonly spelling?: 'camelCase' | 'snake_case';
}

const Text = Type.String();

const WORDS = { actor: 'by this actor', action: 'this action', resource: 'on this kind of resource' };
const SPELLINGS = {
  camelCase: { resourceId: 'resourceId', requestId: 'requestId' },
  snake_case: { resourceId: 'resource_id', requestId: 'request_id' },
} as const;

/**
 * An export leaves out events younger than this: a transaction that has not committed yet may still add one. Transactions
 * end within seconds.
 */
const SETTLED_AFTER_MS = 60_000;

const Count = Type.Integer({ minimum: 1 });
const Hash = Type.String({ pattern: '^[0-9a-f]{64}$' });

const AuditLink = named(
  'AuditLink',
  Type.Object({
    lane: Count,
    seq: Type.Integer({ minimum: 1, description: 'From 1 without gaps, within its lane.' }),
    heads: Type.Array(
      Type.Object({
        lane: Count,
        seq: Count,
        at: instantText(),
        hash: Type.String({ pattern: `^[0-9a-f]{${HEAD_HASH_DIGITS}}$` }),
      }),
      {
        description:
          'The event that it followed in its lane, and the newest of other lanes, of those that moved lately.',
      },
    ),
  }),
);

/** The schema of `AuditProblem`. */
export const auditProblem = enumOf('AuditProblem', AUDIT_PROBLEMS, {
  description:
    'Why an event cannot be taken as written by this surface. no_mac: the row has no MAC; wrong_mac: its MAC is not of ' +
    'what it says; unknown_secret: its MAC is of a server secret that this process does not have; unreadable: it has a ' +
    'value that cannot be shown (a time is moved into the range of RFC 3339, a detail left out).',
});

const base = { ...adminBase, method: 'get' } as const;

/** The audit trail on the admin listener: list, signed export, keys of the export. */
export function adminAuditRoutes(ports: AdminAuditPorts): Route<AdminCaller>[] {
  const spelt = SPELLINGS[ports.spelling ?? 'camelCase'];
  const row = named(
    'AuditEvent',
    Type.Object({
      id: Text,
      at: instantText(),
      actor: Text,
      action: Text,
      resource: Text,
      [spelt.resourceId]: Text,
      [spelt.requestId]: orNull(Text),
      detail: Type.Unknown({ description: 'Further details for people, such as names and reasons.' }),
      link: orNull(AuditLink, { description: 'Its place in the chain of events; null if the row has none.' }),
      problem: orNull(auditProblem, { description: 'Null if a process of this surface wrote exactly this.' }),
    }),
  );
  const item = ({ resourceId, requestId, link, position: _position, ...event }: AuditEvent) => ({
    ...event,
    at: event.at.toISOString(),
    [spelt.resourceId]: resourceId,
    [spelt.requestId]: requestId,
    link: link && { ...link, heads: link.heads.map((head) => ({ ...head })) },
  });
  return [trailRoute(ports, { row, item, spelt }), exportRoute(ports, { row, item }), keysRoute(ports)];
}

interface Shown {
  readonly row: TSchema;
  readonly item: (event: AuditEvent) => { readonly [member: string]: JsonValue };
}

const positionOf = ({ position, id }: AuditEvent): readonly string[] => [position, id];
/** What a position of a cursor was made of. */
const partsOf = (position: unknown): readonly (string | undefined)[] =>
  JSON.parse(String(position)) as readonly string[]; // Signed by this surface.

function trailRoute(
  { cursors, listAudit, countAudit, actorNames }: AdminAuditPorts,
  { row, item, spelt }: Shown & { readonly spelt: (typeof SPELLINGS)[keyof typeof SPELLINGS] },
): Route<AdminCaller> {
  const exactMatch = lineOfText({ min: 1, max: 512 });
  const ofIds = { [spelt.resourceId]: 'on the resource with this id', [spelt.requestId]: 'in this request' };
  const filters: Readonly<Record<string, TSchema>> = {
    ...Object.fromEntries(
      Object.entries({ ...WORDS, ...ofIds }).map(([name, which]) => [
        name,
        Type.Optional({ ...exactMatch, description: `Only ${which}.` }),
      ]),
    ),
    ...period,
  };
  return listRoute({
    path: '/admin/v1/audit',
    operationId: 'listAudit',
    summary: 'List who changed or exported what, newest first',
    description: 'Filters match exactly; `from` is inclusive, `to` exclusive.',
    filters,
    name: 'audit',
    boundTo: Object.keys(filters),
    count: ({ [spelt.resourceId]: resourceId, [spelt.requestId]: requestId, ...wanted }) =>
      // The filters have these names and types.
      countAudit({ ...wanted, ...defined({ resourceId, requestId }) } as Omit<AuditQuery, 'limit'>),
    rows({ [spelt.resourceId]: resourceId, [spelt.requestId]: requestId, counted: _, after, ...wanted }) {
      const [position = '', id = ''] = after === undefined ? [] : partsOf(after);
      const place = after === undefined ? undefined : { position, id };
      // The filters have these names and types.
      return listAudit({ ...wanted, ...defined({ resourceId, requestId, after: place }) } as AuditQuery);
    },
    positionOf: (event: AuditEvent) => JSON.stringify(positionOf(event)),
    row,
    rowOf: item,
    actors: { of: ({ actor }: AuditEvent) => actor, names: actorNames },
    cursors,
  });
}

const exportPage = (row: TSchema) =>
  named(
    'AuditExportPage',
    Type.Object({
      v: Type.Literal(1),
      surface: Text,
      from: orNull(instantText()),
      to: instantText(),
      at: instantText(),
      previous: orNull(Hash, { description: '`hash` of the previous page; null on the first.' }),
      last: Type.Boolean({ description: 'Whether the export ends with this page.' }),
      items: Type.Array(row),
      hash: Type.String({ ...Hash, description: 'SHA-256 of the canonical form (RFC 8785) of the members above.' }),
      signature: Type.String({ description: 'Detached JWS (RFC 7515, EdDSA) over that form.' }),
      nextCursor: orNull(Text),
    }),
  );

function exportRoute(
  { cursors, listAudit, auditSigning, now }: AdminAuditPorts,
  { row, item }: Shown,
): Route<AdminCaller> {
  return adminRoute({
    ...base,
    path: '/admin/v1/audit/export',
    operationId: 'exportAudit',
    summary: 'Export the audit trail as signed pages, oldest first',
    description:
      'The events of a period; `from` is inclusive, `to` exclusive and at least a minute ago (default: a minute ago). The ' +
      'pages form a chain by `previous`: save each as one line, and `sealgate-verify audit` checks them offline. It also ' +
      'names events that no process of the surface wrote, and gaps. Newest events that were removed, and what a thief of ' +
      'the server secrets wrote, it cannot tell.',
    query: listQuery(LIST_RANGE, periodText),
    responses: { 200: { description: 'A page.', schema: exportPage(row) } },
    errors: [],
    async handler(context) {
      const query = context.query as Readonly<Partial<Record<'from' | 'to' | 'limit' | 'cursor', string>>>;
      const from = timeOf(query.from);
      // The first page decides where the export ends; the cursor keeps it, with the hash of the previous page.
      const page = readPage(query, cursors, ['audit export', query.from ?? '', query.to ?? '']);
      const [to = '', previous, at, id] =
        page.after === undefined ? [settledEnd(timeOf(query.to), now()).toISOString()] : partsOf(page.after);
      const rows = await listAudit({
        ...(at === undefined || id === undefined ? {} : { after: { position: at, id } }),
        ...(from === undefined ? {} : { from }),
        to: instantOf(to),
        oldestFirst: true,
        limit: page.limit + 1,
      });
      const sealed = sealAuditPage(
        {
          v: 1,
          surface: auditSigning.surface,
          from: from?.toISOString() ?? null,
          to,
          at: new Date(now()).toISOString(),
          previous: previous ?? null,
          last: rows.length <= page.limit,
          items: rows.slice(0, page.limit).map(item),
        },
        auditSigning.signers[0]!,
      );
      const { nextCursor } = page.answer(rows, {
        item,
        position: (event) => JSON.stringify([to, sealed.hash, ...positionOf(event)]),
      });
      return { status: 200, body: { ...sealed, nextCursor } };
    },
  });
}

function keysRoute({ auditSigning }: AdminAuditPorts): Route<AdminCaller> {
  const Keys = Type.Array(Type.Record(Text, Text, { description: 'A JWK (RFC 7517, RFC 8037).' }));
  return adminRoute({
    ...base,
    path: '/admin/v1/audit/keys',
    operationId: 'listAuditKeys',
    summary: 'Get the public keys of exported pages, as a JWK set',
    responses: {
      200: {
        description: 'The key of each server secret, the signing one first.',
        schema: named('AuditKeySet', Type.Object({ keys: Keys })),
      },
    },
    errors: [],
    handler: () =>
      Promise.resolve({ status: 200, body: { keys: auditSigning.signers.map(({ jwk }) => ({ ...jwk })) } }),
  });
}

/** The end of an export: the time asked for, but never one before which events may still be committed. */
const settledEnd = (asked: Date | undefined, nowMs: number): Date =>
  new Date(Math.min(asked?.getTime() ?? Infinity, nowMs - SETTLED_AFTER_MS));

const timeOf = (text: string | undefined): Date | undefined => (text === undefined ? undefined : instantOf(text));
