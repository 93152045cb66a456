import {
  adminRoute,
  exportedList,
  period,
  resourceRoutes,
  rowAnswers,
  rowsOf,
  type AdminCaller,
  type AuditLedgerChange,
} from '@sealgate/admin-api';
import { closedObject, enumOf, lineOfText, named, type Route } from '@sealgate/http';
import { defined } from '@sealgate/json';
import type { AuditChange } from '@sealgate/audit';
import type { CursorCodec } from '@sealgate/paging';
import { Type, type Static } from '@sinclair/typebox';
import type { DeliveriesStore, ListedDelivery } from '../data/deliveries-store.ts';
import type { RefusedStore } from '../data/refused-store.ts';
import { findNetwork, type Also, type NetworkStore } from '../domain/manage-networks.ts';
import {
  changeSource,
  createSource,
  deleteSource,
  findSource,
  type ManageSourcesPorts,
} from '../domain/manage-sources.ts';
import type { TestOutcome } from '../domain/test-delivery.ts';
import { resolvePreset } from '../domain/source-settings.ts';
import type { Source } from '../domain/source.ts';
import { IdText, OrNull, RecordReceipt, Text, Time } from '../schemas.ts';
import { lowerCased, NewSourceBody, SourceChangeBody, SourceRow, sourceRowOf } from './source-schemas.ts';

const Outcome = enumOf('DeliveryOutcome', ['written', 'conflict', 'unknown', 'replayed', 'refused'], {
  description: '`conflict`: answered 200, wrote nothing. `unknown`: not settled yet.',
});

const DeliveryRow = named(
  'SourceDelivery',
  Type.Object({
    at: Time,
    outcome: Outcome,
    code: OrNull(Type.String({ description: 'The problem code of a refusal or conflict.' })),
    reason: OrNull(
      Type.String({ description: 'Why it was refused or a conflict: see the list of refused deliveries.' }),
    ),
    deliveries: Type.Integer({ description: 'Replays and refusals are counted per minute; `at` is the last of them.' }),
    requestId: Type.String({ description: 'The id of the last of them.' }),
    eventId: OrNull(Text),
    types: Type.Array(Text),
    records: Type.Array(named('EventRecord', Type.Object({ id: Text, channel: Text, transactionId: Text }))),
  }),
);

const TestAnswer = named(
  'TestDeliveryAnswer',
  Type.Object({
    status: Type.Integer({ description: 'The status that the sender would have received.' }),
    code: OrNull(Type.String({ description: 'The problem code of a refusal.' })),
    outcome: OrNull(enumOf('TestDeliveryOutcome', ['written', 'replayed', 'conflict', 'answered'])),
    eventId: OrNull(Text),
    records: Type.Array(RecordReceipt),
  }),
);

export interface AdminSourcesPorts extends ManageSourcesPorts {
  readonly networks: NetworkStore;
  readonly deliveries: DeliveriesStore;
  readonly refused: Pick<RefusedStore, 'forget'>;
  readonly testDelivery: (about: { readonly sourceId: string; readonly requestId: string }) => Promise<TestOutcome>;
  /** The URL of the public listener, where this process knows it. */
  readonly publicUrl: string | undefined;
  readonly cursors: CursorCodec;
  readonly auditChange: AuditChange & AuditLedgerChange;
}

const { creating, listing, reading, changing, deleting } = resourceRoutes({
  name: 'Source',
  said: 'The source, without its secrets.',
  row: SourceRow,
  path: '/admin/v1/networks/:networkId/sources',
  params: { networkId: IdText },
  id: 'sourceId',
  idSchema: IdText,
});
const tags = ['sources'];

export function adminSourceRoutes(ports: AdminSourcesPorts): Route<AdminCaller>[] {
  return [...changingRoutes(ports), ...readingRoutes(ports)];
}

function changingRoutes(ports: AdminSourcesPorts): Route<AdminCaller>[] {
  const { created, found } = rowAnswers((source: Source) => sourceRowOf(source, ports.publicUrl));
  const alsoRecord =
    (context: Parameters<AuditChange>[0], action: string, resourceId: string): Also =>
    (transaction) =>
      ports.auditChange(context, { action, resource: 'source', resourceId }, transaction);
  const forgetting =
    (sourceId: string, also: Also): Also =>
    async (transaction) => {
      await ports.refused.forget(sourceId, transaction);
      await also(transaction);
    };
  const create = adminRoute({
    ...creating,
    tags,
    summary: 'Create a source, which receives signed webhooks of one sender',
    body: NewSourceBody,
    errors: ['UNKNOWN_CHANNEL', 'LIMIT_REACHED'],
    async handler(context) {
      const { name, scheme, preset, secrets, enabled = true, ...settings } = context.body;
      const given = { name, enabled, secrets, ...resolvePreset({ scheme, preset }, lowerCased(settings)) };
      const { networkId } = context.params;
      const also = (sourceId: string) => alsoRecord(context, 'source.create', sourceId);
      return created(await createSource(ports, { networkId, ...given }, also));
    },
  });
  const patch = adminRoute({
    ...changing,
    tags,
    summary: 'Change name or settings of a source, or enable or disable it',
    description: 'Null resets a setting to the default of the scheme. Rotating a secret takes two changes.',
    body: SourceChangeBody,
    errors: ['UNKNOWN_CHANNEL'],
    async handler(context) {
      const { name, secrets, enabled, ...settings } = context.body;
      const change = { ...defined({ name, secrets, enabled }), settings: lowerCased(settings) };
      const record = alsoRecord(context, 'source.change', context.params.sourceId);
      const keepsNothing = context.body.keepRefusedHours === 0 || context.body.keepRefusedHours === null;
      const also = keepsNothing ? forgetting(context.params.sourceId, record) : record;
      return found(await changeSource(ports, context.params, { change, also }));
    },
  });
  const remove = adminRoute({
    ...deleting,
    tags,
    summary: 'Delete a source and its secrets; its records stay, further deliveries are 404',
    async handler(context) {
      const { sourceId } = context.params;
      await deleteSource(ports, context.params, forgetting(sourceId, alsoRecord(context, 'source.delete', sourceId)));
      return { status: 204 };
    },
  });
  const test = adminRoute({
    ...changing,
    tags,
    method: 'post',
    path: `${reading.path}/test`,
    operationId: 'testSource',
    summary: 'Sign a sample as the sender would and take it as any other delivery; the record that it writes stays',
    body: closedObject({}),
    bodyOptional: true,
    responses: { 200: { description: 'The answer that the sender would have received.', schema: TestAnswer } },
    errors: ['INVALID_STATE_TRANSITION'],
    async handler(context) {
      const { networkId, sourceId } = context.params;
      await findSource(ports, networkId, sourceId);
      const outcome = await ports.testDelivery({ sourceId, requestId: context.requestId });
      const change = { action: 'source.test', resource: 'source', resourceId: sourceId };
      await ports.auditChange(context, { ...change, detail: { status: String(outcome.status) } });
      return { status: 200, body: testRow(outcome) };
    },
  });
  return [create, patch, remove, test];
}

function readingRoutes(ports: AdminSourcesPorts): Route<AdminCaller>[] {
  const { cursors } = ports;
  const rowOf = (source: Source) => sourceRowOf(source, ports.publicUrl);
  const { found } = rowAnswers(rowOf);
  const list = exportedList({
    ...listing,
    tags,
    summary: 'List the sources of a network, newest first',
    boundTo: ['networkId'],
    search: true,
    sorts: { fields: ['createdAt', 'changedAt', 'name'], default: '-createdAt' },
    holder: ({ networkId }) => findNetwork(ports.networks, networkId),
    ...rowsOf(() => ports.sources.list, rowOf),
    exported: { resource: 'source', of: 'networkId', auditChange: ports.auditChange },
    cursors,
  });
  const get = adminRoute({
    ...reading,
    tags,
    summary: 'Read a source, without its secrets',
    handler: async ({ params }) => found(await findSource(ports, params.networkId, params.sourceId)),
  });
  const deliveries = exportedList({
    tags,
    path: `${reading.path}/deliveries`,
    params: reading.params,
    operationId: 'listSourceDeliveries',
    summary: 'List the outcomes of the last deliveries to a source, newest first unless sorted',
    name: 'deliveries',
    filters: {
      outcome: Type.Optional(Outcome),
      deliveryId: Type.Optional({
        ...lineOfText({ min: 1, max: 256 }),
        description: 'Only deliveries that were written or in conflict and to which their sender gave this id.',
      }),
      ...period,
    },
    boundTo: ['sourceId', 'outcome', 'deliveryId', 'from', 'to'],
    holder: ({ networkId, sourceId }) => findSource(ports, networkId, sourceId),
    sorts: { fields: ['at'], default: '-at' },
    count: ({ sourceId, ...filter }) => ports.deliveries.count(sourceId, filter),
    rows: ({ sourceId, sorting, ...page }) =>
      ports.deliveries.list(sourceId, { ...page, oldestFirst: !sorting.descending }),
    exported: { resource: 'source', of: 'sourceId', auditChange: ports.auditChange },
    positionOf: ({ position }: ListedDelivery) => position,
    row: DeliveryRow,
    rowOf: deliveryRow,
    cursors,
  });
  return [...list, get, ...deliveries];
}

function deliveryRow({ position: _, ...row }: ListedDelivery): Static<typeof DeliveryRow> {
  return { ...row, at: row.at.toISOString(), types: [...row.types], records: [...row.records] };
}

function testRow({ status, code, answer }: TestOutcome): Static<typeof TestAnswer> {
  const { records = [] } = (answer === null ? {} : JSON.parse(answer.body)) as Pick<
    Static<typeof TestAnswer>,
    'records'
  >;
  return { status, code, outcome: answer?.outcome ?? null, eventId: answer?.eventId ?? null, records };
}
