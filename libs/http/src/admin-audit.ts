import type { JsonValue } from '@sealgate/json';
import type { CursorCodec } from '@sealgate/paging';
import { type TSchema, Type } from '@sinclair/typebox';
import { ADMIN_LIST_RANGE, type AdminCaller, adminRoute, readPage } from './admin-app.ts';
import type { Route } from './route.ts';
import { instantText, lineOfText, listOf, listQuery, named } from './schemas.ts';

/** An audit event as the surface stores it. */
interface StoredEvent {
  readonly id: string;
  readonly at: Date;
  readonly actor: string;
  readonly action: string;
  readonly resource: string;
  readonly resourceId: string;
  readonly requestId: string | null;
  readonly detail: JsonValue;
}

/** Filters of a page of audit events. `from` is inclusive, `to` exclusive; absent members do not filter. */
export interface AuditQuery {
  readonly limit: number;
  /** The last event of the previous page. */
  readonly after?: { readonly at: Date; readonly id: string };
  readonly actor?: string;
  readonly action?: string;
  readonly resource?: string;
  readonly resourceId?: string;
  readonly requestId?: string;
  readonly from?: Date;
  readonly to?: Date;
}

export interface AdminAuditPorts {
  readonly cursors: CursorCodec;
  /** Returns events newest first; see `AuditTrail.list`. */
  readonly listAudit: (query: AuditQuery) => Promise<readonly StoredEvent[]>;
  /** Spelling of two-word members; default `camelCase`. */
  readonly spelling?: 'camelCase' | 'snake_case';
}

const Text = Type.String();
const OrNull = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);

const WORDS = ['actor', 'action', 'resource'] as const;
const SPELLINGS = {
  camelCase: { resourceId: 'resourceId', requestId: 'requestId' },
  snake_case: { resourceId: 'resource_id', requestId: 'request_id' },
} as const;

/** The route that lists audit events on the admin listener. */
export function adminAuditRoutes({
  cursors,
  listAudit,
  spelling = 'camelCase',
}: AdminAuditPorts): Route<AdminCaller>[] {
  const spelt = SPELLINGS[spelling];
  const Row = named(
    'AuditEvent',
    Type.Object({
      ...{ id: Text, at: instantText(), actor: Text, action: Text, resource: Text },
      ...{ [spelt.resourceId]: Text, [spelt.requestId]: OrNull(Text) },
      detail: Type.Unknown({ description: 'Further details for people, such as names and reasons.' }),
    }),
  );
  const exactMatch = Type.Optional(lineOfText({ min: 1, max: 512 }));
  const filters = [...WORDS, spelt.resourceId, spelt.requestId];
  const Query = listQuery(ADMIN_LIST_RANGE, {
    ...Object.fromEntries(filters.map((name) => [name, exactMatch])),
    from: Type.Optional(instantText()),
    to: Type.Optional(instantText()),
  });
  return [
    adminRoute({
      charge: 'none',
      idempotency: 'none',
      permit: 'authenticated',
      method: 'get',
      path: '/admin/v1/audit',
      operationId: 'listAudit',
      summary: 'List who changed or exported what, newest first',
      description: 'Filters match exactly; `from` is inclusive, `to` exclusive.',
      query: Query,
      responses: { 200: { description: 'A page.', schema: listOf(Row) } },
      errors: [],
      async handler(context) {
        const query = context.query as Readonly<Record<string, string | undefined>>;
        const binding = [...filters, 'from', 'to'].map((name) => query[name] ?? '');
        const page = readPage(query, cursors, ['audit', ...binding]);
        const [at = '', id = ''] = String(page.after ?? '').split(' ');
        const wanted = {
          ...query,
          resourceId: query[spelt.resourceId],
          requestId: query[spelt.requestId],
          after: page.after === undefined ? undefined : { at: new Date(at), id },
          from: timeOf(query['from']),
          to: timeOf(query['to']),
          limit: page.limit + 1,
        };
        const rows = await listAudit(withoutAbsent(wanted));
        const item = ({ resourceId, requestId, ...event }: StoredEvent) => ({
          ...event,
          at: event.at.toISOString(),
          [spelt.resourceId]: resourceId,
          [spelt.requestId]: requestId,
        });
        const position = (event: StoredEvent) => `${event.at.toISOString()} ${event.id}`;
        return { status: 200, body: page.answer(rows, { item, position }) };
      },
    }),
  ];
}

const timeOf = (text: string | undefined): Date | undefined => (text === undefined ? undefined : new Date(text));

function withoutAbsent(wanted: Readonly<Record<string, unknown>> & { readonly limit: number }): AuditQuery {
  const names = ['limit', 'after', 'actor', 'action', 'resource', 'resourceId', 'requestId', 'from', 'to'];
  // The query schema has validated the type of each member.
  return Object.fromEntries(
    names.flatMap((name) => (wanted[name] === undefined ? [] : [[name, wanted[name]]])),
  ) as unknown as AuditQuery;
}
