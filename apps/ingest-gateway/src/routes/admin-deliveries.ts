import { AppError } from '@sealgate/errors';
import {
  adminBase,
  adminRoute,
  exportedList,
  OPERATORS_ONLY,
  periodText,
  period,
  rowsOf,
  type AdminCaller,
  type AuditLedgerChange,
} from '@sealgate/admin-api';
import type { AuditChange } from '@sealgate/audit';
import { enumOf, listOf, named, type Route } from '@sealgate/http';
import { instantOf } from '@sealgate/json';
import type { CursorCodec } from '@sealgate/paging';
import { Type, type Static } from '@sinclair/typebox';
import type { RefusedEverywhere } from '../data/refused-everywhere.ts';
import type { RefusedStore } from '../data/refused-store.ts';
import { activityOf, ACTIVITY_SPANS, type ActivityHour } from '../domain/activity.ts';
import type { HeldBody } from '../domain/body-budget.ts';
import { findSource, type ManageSourcesPorts } from '../domain/manage-sources.ts';
import { whyNotKept, type RefusalOfSource } from '../domain/refusals.ts';
import type { ShowKept } from '../domain/show-kept.ts';
import { IdText, OrNull, Text, Time } from '../schemas.ts';
import { RefusedRow, refusalFilters, rowOf } from './admin-refused.ts';

export const RefusedOfSourceRow = named(
  'RefusedDeliveryOfSource',
  Type.Object({
    networkId: Text,
    sourceId: Text,
    sourceName: Type.String({ description: 'Of a deleted source, too.' }),
    ...RefusedRow.properties,
  }),
);

const GroupRow = named(
  'RefusalGroup',
  Type.Object({
    networkId: Text,
    sourceId: Text,
    sourceName: Text,
    code: Text,
    reason: OrNull(Type.String({ description: 'Null for refusals of a flood, which were not looked at.' })),
    deliveries: Type.Integer(),
    firstAt: Type.Unsafe<string>({
      ...Time,
      description: 'In whole minutes: the end of the first one with such a delivery.',
    }),
    lastAt: Time,
    lastSkewSeconds: OrNull(Type.Integer()),
    exampleId: OrNull(Type.String({ description: 'The newest refused delivery of this reason that is listed.' })),
  }),
);

const count = Type.Integer({ minimum: 0 });
const ActivityRow = named(
  'SourceActivity',
  Type.Object({
    from: Time,
    accepted: Type.Integer({ minimum: 0, description: 'Written, or answered as a challenge.' }),
    replayed: count,
    conflicts: count,
    refused: count,
  }),
);

const KeptAnswer = named(
  'KeptDelivery',
  Type.Object({
    headers: Type.Array(
      named(
        'KeptHeader',
        Type.Object({
          name: Text,
          value: OrNull(Type.String({ description: 'Null where it may hold a credential, which is never shown.' })),
        }),
      ),
    ),
    body: OrNull(
      Type.String({ description: 'As JSON, as it would be written: sensitive members are removed. Null: not shown.' }),
    ),
    strippedFields: Type.Integer({ description: 'How many sensitive members were removed.' }),
    whyHidden: OrNull(Type.String({ description: 'Why the body is not shown.' })),
  }),
);

export interface AdminDeliveriesPorts extends Pick<ManageSourcesPorts, 'sources' | 'now'> {
  readonly refused: RefusedStore;
  readonly refusedEverywhere: RefusedEverywhere;
  /** The hours of a source from a moment on. */
  readonly activity: (sourceId: string, from: Date) => Promise<readonly ActivityHour[]>;
  readonly showKept: ShowKept;
  readonly holdBody: (sourceId: string) => HeldBody;
  readonly cursors: CursorCodec;
  readonly auditChange: AuditChange & AuditLedgerChange;
}

const OF_SOURCE = '/admin/v1/networks/:networkId/sources/:sourceId';
const ofSource = Type.Object({ networkId: IdText, sourceId: IdText });
const ofRefused = Type.Object({ networkId: IdText, sourceId: IdText, refusedId: IdText });
const base = { ...adminBase, tags: ['sources'], method: 'get' } as const;
const sourceFilters = {
  networkId: Type.Optional({ ...IdText, description: 'Only of this network.' }),
  sourceId: Type.Optional({ ...IdText, description: 'Only of this source.' }),
};
const DAY_MS = 86_400_000;

/** What people look at who search why a webhook failed: refused deliveries of all sources, one of them, and charts. */
export function adminDeliveryRoutes(ports: AdminDeliveriesPorts): Route<AdminCaller>[] {
  const list = exportedList({
    tags: ['sources'],
    path: '/admin/v1/refused',
    operationId: 'listAllRefusedDeliveries',
    summary: 'List refused deliveries of all sources with their reasons, newest first',
    filters: { ...sourceFilters, ...refusalFilters, ...period },
    name: 'all refused',
    boundTo: ['networkId', 'sourceId', 'reason', 'deliveryId', 'requestId', 'from', 'to'],
    sorts: { fields: ['at'], default: '-at' },
    ...rowsOf(() => ports.refusedEverywhere.list, refusedOfSourceRow),
    row: RefusedOfSourceRow,
    exported: { resource: 'source', of: 'sourceId', auditChange: ports.auditChange },
    cursors: ports.cursors,
  });
  const groups = adminRoute({
    ...base,
    path: '/admin/v1/refused/groups',
    operationId: 'groupRefusedDeliveries',
    summary: 'Group refused deliveries and conflicts by source, code and reason, the most frequent first',
    description:
      'Of the last 24 hours, unless `from` and `to` say otherwise. At most 200 groups, of the newest 50,000 counts of ' +
      'one minute each.',
    query: Type.Object({ ...sourceFilters, ...periodText }, { additionalProperties: false }),
    responses: { 200: { description: 'The groups.', schema: listOf(GroupRow) } },
    errors: [],
    async handler({ query: { from, to, ...of } }) {
      const end = to === undefined ? new Date(ports.now()) : instantOf(to);
      const begin = from === undefined ? new Date(end.getTime() - DAY_MS) : instantOf(from);
      const found = await ports.refusedEverywhere.groups({ ...of, from: begin, to: end });
      const items = found.map(({ firstAt, lastAt, ...group }) => ({
        ...group,
        firstAt: firstAt.toISOString(),
        lastAt: lastAt.toISOString(),
      }));
      return { status: 200, body: { items, nextCursor: null } };
    },
  });
  return [...list, groups, ...ofOneSource(ports)];
}

function ofOneSource(ports: AdminDeliveriesPorts): Route<AdminCaller>[] {
  const activity = adminRoute({
    ...base,
    path: `${OF_SOURCE}/activity`,
    operationId: 'readSourceActivity',
    summary: 'Count the deliveries of a source by hour or day',
    description:
      'The last 24 hours, or the last 14 days of UTC, oldest first, also those without a delivery. Deliveries are counted off the ' +
      'request path, some seconds late.',
    params: ofSource,
    query: Type.Object(
      { per: Type.Optional(enumOf('ActivityStep', ['hour', 'day'], { description: 'Default hour.' })) },
      { additionalProperties: false },
    ),
    responses: { 200: { description: 'One row for each hour or day.', schema: listOf(ActivityRow) } },
    errors: ['NOT_FOUND'],
    async handler({ params: { networkId, sourceId }, query: { per = 'hour' } }) {
      await findSource(ports, networkId, sourceId);
      const span = ACTIVITY_SPANS[per];
      const from = span.from(ports.now());
      const items = activityOf(span, from, await ports.activity(sourceId, from));
      return { status: 200, body: { items, nextCursor: null } };
    },
  });
  const find = async ({ networkId, sourceId, refusedId }: Static<typeof ofRefused>) => {
    const { settings } = await findSource(ports, networkId, sourceId);
    const row = await ports.refused.find(sourceId, refusedId);
    if (row === undefined) throw new AppError('NOT_FOUND', 'There is no such refused delivery.');
    return { row, settings };
  };
  const get = adminRoute({
    ...base,
    path: `${OF_SOURCE}/refused/:refusedId`,
    operationId: 'getRefusedDelivery',
    summary: 'Read a refused delivery: its reason and what became of it',
    params: ofRefused,
    responses: { 200: { description: 'The refused delivery.', schema: RefusedRow } },
    errors: ['NOT_FOUND'],
    handler: async ({ params }) => ({ status: 200, body: rowOf((await find(params)).row) }),
  });
  const kept = adminRoute({
    ...base,
    path: `${OF_SOURCE}/refused/:refusedId/kept`,
    operationId: 'readKeptDelivery',
    summary: 'Read headers and body that are kept of a refused delivery, without sensitive members and credentials',
    description:
      'For operators, and written to the audit trail. 409 where nothing is kept, with the reason in `detail`. A body ' +
      'that cannot be read, or that is larger than 262,144 bytes, is not shown: what cannot be read cannot be stripped.',
    permit: OPERATORS_ONLY,
    params: ofRefused,
    responses: { 200: { description: 'What is kept.', schema: KeptAnswer } },
    errors: ['NOT_FOUND', 'INVALID_STATE_TRANSITION', 'OVERLOADED', 'UNAVAILABLE'],
    async handler(context) {
      const { row, settings } = await find(context.params);
      const { networkId, sourceId, refusedId } = context.params;
      const held = ports.holdBody(sourceId);
      try {
        held.arrived(row.bodyBytes ?? 0);
        const delivery = await ports.refused.open(refusedId);
        if (delivery === undefined)
          throw new AppError('INVALID_STATE_TRANSITION', whyNotKept(row, settings, ports.now()));
        const change = { action: 'source.look', resource: 'source', resourceId: sourceId };
        await ports.auditChange(context, { ...change, detail: { refusedId } });
        return { status: 200, body: await ports.showKept(delivery, { settings, networkId }) };
      } finally {
        held.release();
      }
    },
  });
  return [activity, get, kept];
}

/** A refused delivery with its source, as the API returns it. */
export function refusedOfSourceRow({
  networkId,
  sourceName,
  ...refusal
}: RefusalOfSource): Static<typeof RefusedOfSourceRow> {
  return { networkId, sourceId: refusal.sourceId, sourceName, ...rowOf(refusal) };
}
