import type { JsonValue } from '@sealgate/json';
import type { CursorCodec } from '@sealgate/paging';
import { Type, type TSchema } from '@sinclair/typebox';
import { ADMIN_LIST_RANGE, adminRoute, type AdminCaller } from './admin-app.ts';
import { named } from './named-schema.ts';
import { instantText, lineOfText, listOf, listQuery } from './parameters.ts';
import { readPage } from './read-page.ts';
import type { Route } from './route.ts';

/** An audit event as the surface keeps it. */
interface KeptEvent {
  readonly id: string;
  readonly at: Date;
  readonly actor: string;
  readonly action: string;
  readonly resource: string;
  readonly resourceId: string;
  readonly requestId: string | null;
  readonly detail: JsonValue;
}

/** Absent members ask for nothing. `from` is within, `to` is not. */
export interface AuditQuery {
  readonly limit: number;
  /** The last event of the page before. */
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
  /** Newest first: see `AuditTrail.list`. */
  readonly listAudit: (query: AuditQuery) => Promise<readonly KeptEvent[]>;
  /** How this surface spells members of two words; `camelCase` unless said otherwise. */
  readonly spelling?: 'camelCase' | 'snake_case';
}

const Text = Type.String();
const OrNull = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);

const WORDS = ['actor', 'action', 'resource'] as const;
const SPELLINGS = {
  camelCase: { resourceId: 'resourceId', requestId: 'requestId' },
  snake_case: { resourceId: 'resource_id', requestId: 'request_id' },
} as const;

/** Who changed or exported what, on the admin listener of any surface. */
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
      detail: Type.Unknown({ description: 'What else is told of it, for people: names and reasons.' }),
    }),
  );
  const exactly = Type.Optional(lineOfText({ min: 1, max: 512 }));
  const filters = [...WORDS, spelt.resourceId, spelt.requestId];
  const Query = listQuery(ADMIN_LIST_RANGE, {
    ...Object.fromEntries(filters.map((name) => [name, exactly])),
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
      summary: 'Who changed or exported what, newest first',
      description: 'Filters are exact; `from` is within the time asked for, `to` is not.',
      query: Query,
      responses: { 200: { description: 'A page.', schema: listOf(Row) } },
      errors: [],
      async handler(context) {
        const query = context.query as Readonly<Record<string, string | undefined>>;
        const binding = [...filters, 'from', 'to'].map((name) => query[name] ?? '');
        const page = readPage(query, cursors, ['audit', ...binding]);
        const [at = '', id = ''] = String(page.after ?? '').split(' ');
        const asked = {
          ...query,
          resourceId: query[spelt.resourceId],
          requestId: query[spelt.requestId],
          after: page.after === undefined ? undefined : { at: new Date(at), id },
          from: timeOf(query['from']),
          to: timeOf(query['to']),
          limit: page.limit + 1,
        };
        const rows = await listAudit(withoutAbsent(asked));
        const item = ({ resourceId, requestId, ...event }: KeptEvent) => ({
          ...event,
          at: event.at.toISOString(),
          [spelt.resourceId]: resourceId,
          [spelt.requestId]: requestId,
        });
        const position = (event: KeptEvent) => `${event.at.toISOString()} ${event.id}`;
        return { status: 200, body: page.answer(rows, { item, position }) };
      },
    }),
  ];
}

const timeOf = (text: string | undefined): Date | undefined => (text === undefined ? undefined : new Date(text));

function withoutAbsent(asked: Readonly<Record<string, unknown>> & { readonly limit: number }): AuditQuery {
  const names = ['limit', 'after', 'actor', 'action', 'resource', 'resourceId', 'requestId', 'from', 'to'];
  // Each has the type that the schema of the query gave it.
  return Object.fromEntries(
    names.flatMap((name) => (asked[name] === undefined ? [] : [[name, asked[name]]])),
  ) as unknown as AuditQuery;
}
