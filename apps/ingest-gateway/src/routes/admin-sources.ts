import {
  type AuditLedgerChange,
  ADMIN_BODY_MAX_BYTES,
  ADMIN_LIST_RANGE,
  adminRoute,
  readPage,
  type AdminCaller,
} from '@sealgate/admin-api';
import { closedObject, enumOf, listOf, listQuery, named, type Route } from '@sealgate/http';
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
  type Source,
} from '../domain/manage-sources.ts';
import type { TestOutcome } from '../domain/test-delivery.ts';
import { resolvePreset } from '../domain/source-settings.ts';
import { IdText, OrNull, RecordReceipt, Text, Time } from './schemas.ts';
import {
  NewSourceBody,
  newSettingsOf,
  secretsOf,
  settingsOf,
  SourceChangeBody,
  SourceRow,
  sourceRowOf,
} from './source-schemas.ts';

const DeliveryRow = named(
  'SourceDelivery',
  Type.Object({
    at: Time,
    outcome: enumOf('DeliveryOutcome', ['written', 'conflict', 'unknown', 'replayed', 'refused'], {
      description: '`conflict`: answered 200, wrote nothing. `unknown`: not settled yet.',
    }),
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

const PATH = '/admin/v1/networks/:networkId/sources';
const params = Type.Object({ networkId: IdText });
const oneParams = Type.Object({ networkId: IdText, sourceId: IdText });
const base = { charge: 'none', idempotency: 'none', permit: 'authenticated', tags: ['sources'] } as const;

export function adminSourceRoutes(ports: AdminSourcesPorts): Route<AdminCaller>[] {
  return [...changingRoutes(ports), ...readingRoutes(ports)];
}

function changingRoutes(ports: AdminSourcesPorts): Route<AdminCaller>[] {
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
    ...base,
    method: 'post',
    path: PATH,
    operationId: 'createSource',
    summary: 'Create a source, which receives signed webhooks of one sender',
    params,
    body: NewSourceBody,
    bodyMaxBytes: ADMIN_BODY_MAX_BYTES,
    responses: { 201: { description: 'The source, without its secrets.', schema: SourceRow } },
    errors: ['NOT_FOUND', 'UNKNOWN_CHANNEL', 'LIMIT_REACHED'],
    async handler(context) {
      const { name, secrets, enabled = true } = context.body;
      const resolved = resolvePreset(context.body, newSettingsOf(context.body));
      const given = { name, enabled, secrets: secretsOf(secrets), ...resolved };
      const source = await createSource(ports, { networkId: context.params.networkId, ...given }, (sourceId) =>
        alsoRecord(context, 'source.create', sourceId),
      );
      return { status: 201, body: sourceRowOf(source, ports.publicUrl) };
    },
  });
  const patch = adminRoute({
    ...base,
    method: 'patch',
    path: `${PATH}/:sourceId`,
    operationId: 'changeSource',
    summary: 'Change a source; null resets a setting to the default of the scheme. Rotating a secret takes two changes',
    params: oneParams,
    body: SourceChangeBody,
    bodyMaxBytes: ADMIN_BODY_MAX_BYTES,
    responses: { 200: { description: 'The source, without its secrets.', schema: SourceRow } },
    errors: ['NOT_FOUND', 'UNKNOWN_CHANNEL'],
    async handler(context) {
      const { name, secrets, enabled } = context.body;
      const change = {
        settings: settingsOf(context.body),
        ...(name === undefined ? {} : { name }),
        ...(secrets === undefined ? {} : { secrets: secretsOf(secrets) }),
        ...(enabled === undefined ? {} : { enabled }),
      };
      const record = alsoRecord(context, 'source.change', context.params.sourceId);
      const keepsNothing = context.body.keepRefusedHours === 0 || context.body.keepRefusedHours === null;
      const also = keepsNothing ? forgetting(context.params.sourceId, record) : record;
      return {
        status: 200,
        body: sourceRowOf(await changeSource(ports, context.params, { change, also }), ports.publicUrl),
      };
    },
  });
  const remove = adminRoute({
    ...base,
    method: 'delete',
    path: `${PATH}/:sourceId`,
    operationId: 'deleteSource',
    summary: 'Delete a source and its secrets; its records stay, further deliveries are 404',
    params: oneParams,
    responses: { 204: { description: 'Deleted, now or before.' } },
    errors: ['NOT_FOUND'],
    async handler(context) {
      const { sourceId } = context.params;
      await deleteSource(ports, context.params, forgetting(sourceId, alsoRecord(context, 'source.delete', sourceId)));
      return { status: 204 };
    },
  });
  const test = adminRoute({
    ...base,
    method: 'post',
    path: `${PATH}/:sourceId/test`,
    operationId: 'testSource',
    summary: 'Sign a sample as the sender would and take it as any other delivery; the record that it writes stays',
    params: oneParams,
    body: closedObject({}),
    bodyOptional: true,
    bodyMaxBytes: ADMIN_BODY_MAX_BYTES,
    responses: { 200: { description: 'The answer that the sender would have received.', schema: TestAnswer } },
    errors: ['NOT_FOUND', 'INVALID_STATE_TRANSITION'],
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
  const list = adminRoute({
    ...base,
    method: 'get',
    path: PATH,
    operationId: 'listSources',
    summary: 'List sources, newest first',
    params,
    query: listQuery(ADMIN_LIST_RANGE, {}),
    responses: { 200: { description: 'A page.', schema: listOf(SourceRow) } },
    errors: ['NOT_FOUND', 'INVALID_LIMIT', 'INVALID_CURSOR'],
    async handler({ params: { networkId }, query }) {
      await findNetwork(ports.networks, networkId);
      const page = readPage(query, ports.cursors, ['sources', networkId]);
      const after = page.after === undefined ? {} : { after: String(page.after) };
      const rows = await ports.sources.list(networkId, { limit: page.limit + 1, ...after });
      const position = ({ sourceId }: Source) => sourceId;
      const item = (row: Source) => sourceRowOf(row, ports.publicUrl);
      return { status: 200, body: page.answer(rows, { item, position }) };
    },
  });
  const get = adminRoute({
    ...base,
    method: 'get',
    path: `${PATH}/:sourceId`,
    operationId: 'getSource',
    summary: 'Read a source',
    params: oneParams,
    responses: { 200: { description: 'The source, without its secrets.', schema: SourceRow } },
    errors: ['NOT_FOUND'],
    async handler({ params: { networkId, sourceId } }) {
      return { status: 200, body: sourceRowOf(await findSource(ports, networkId, sourceId), ports.publicUrl) };
    },
  });
  const deliveries = adminRoute({
    ...base,
    method: 'get',
    path: `${PATH}/:sourceId/deliveries`,
    operationId: 'listSourceDeliveries',
    summary: 'List the outcomes of the last deliveries to a source, newest first by `at`',
    params: oneParams,
    query: listQuery(ADMIN_LIST_RANGE, {}),
    responses: { 200: { description: 'A page.', schema: listOf(DeliveryRow) } },
    errors: ['NOT_FOUND', 'INVALID_LIMIT', 'INVALID_CURSOR'],
    async handler({ params: { networkId, sourceId }, query }) {
      await findSource(ports, networkId, sourceId);
      const page = readPage(query, ports.cursors, ['deliveries', sourceId]);
      const before = page.after === undefined ? {} : { before: String(page.after) };
      const rows = await ports.deliveries.list(sourceId, { limit: page.limit + 1, ...before });
      const position = (row: ListedDelivery) => row.position;
      return { status: 200, body: page.answer(rows, { item: deliveryRow, position }) };
    },
  });
  return [list, get, deliveries];
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
