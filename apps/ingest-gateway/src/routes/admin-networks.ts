import { isDeepStrictEqual } from 'node:util';
import { AppError } from '@sealgate/errors';
import { ADMIN_BODY_MAX_BYTES, ADMIN_LIST_RANGE, adminRoute, readPage, type AdminCaller } from '@sealgate/admin-api';
import { closedObject, listOf, listQuery, named, type Route } from '@sealgate/http';
import type { AuditChange } from '@sealgate/audit';
import type { CursorCodec } from '@sealgate/paging';
import { Type, type Static } from '@sinclair/typebox';
import {
  changeNetwork,
  createNetwork,
  deleteNetwork,
  findNetwork,
  type Also,
  type Network,
  type NetworkPorts,
} from '../domain/manage-networks.ts';
import { ChannelName, IdText, LimitsBody, Name, NetworkId, OrNull, Text, Time } from './schemas.ts';

const Channels = Type.Array(ChannelName, {
  minItems: 1,
  maxItems: 64,
  uniqueItems: true,
  description: 'The first is the default.',
});

const NewNetworkBody = closedObject({
  networkId: NetworkId,
  name: Type.Optional(Name),
  channels: Type.Optional(Channels),
  limits: Type.Optional(LimitsBody),
});

const ChangeBody = closedObject({
  name: Type.Optional(OrNull(Name)),
  channels: Type.Optional(Channels),
  limits: Type.Optional(OrNull(LimitsBody)),
});

const NetworkRow = named(
  'Network',
  Type.Object({
    networkId: Text,
    name: OrNull(Text),
    channels: Type.Array(Text),
    limits: named('NetworkLimits', Type.Object({ ratePerSecond: Type.Integer(), burst: Type.Integer() })),
    createdAt: Time,
  }),
);

export interface AdminNetworksPorts extends NetworkPorts {
  readonly cursors: CursorCodec;
  readonly auditChange: AuditChange;
  readonly defaultLimits: { readonly ratePerSecond: number; readonly burst: number };
  readonly maxBatchRecords: number;
}

const params = Type.Object({ networkId: IdText });
const base = { charge: 'none', idempotency: 'none', permit: 'authenticated' } as const;

export function adminNetworkRoutes(ports: AdminNetworksPorts): Route<AdminCaller>[] {
  const rowOf = (network: Network): Static<typeof NetworkRow> => ({
    networkId: network.networkId,
    name: network.name,
    channels: [...network.channels],
    limits: network.limits ?? ports.defaultLimits,
    createdAt: network.createdAt.toISOString(),
  });
  const alsoRecord =
    (context: Parameters<AuditChange>[0], action: string, resourceId: string): Also =>
    (transaction) =>
      ports.auditChange(context, { action, resource: 'network', resourceId }, transaction);
  const create = adminRoute({
    ...base,
    method: 'post',
    path: '/admin/v1/networks',
    operationId: 'createNetwork',
    summary: 'Create a network',
    body: NewNetworkBody,
    bodyMaxBytes: ADMIN_BODY_MAX_BYTES,
    responses: { 201: { description: 'The network.', schema: NetworkRow } },
    errors: ['ALREADY_EXISTS', 'UNKNOWN_CHANNEL'],
    async handler(context) {
      const { networkId, name = null, channels = ['main'], limits = null } = context.body;
      checkBurst(limits, ports.maxBatchRecords);
      const also = alsoRecord(context, 'network.create', networkId);
      const network = await createNetwork(ports, { networkId, name, channels, limits }, also);
      return { status: 201, body: rowOf(network) };
    },
  });
  const list = adminRoute({
    ...base,
    method: 'get',
    path: '/admin/v1/networks',
    operationId: 'listNetworks',
    summary: 'List networks by id',
    query: listQuery(ADMIN_LIST_RANGE, {}),
    responses: { 200: { description: 'A page.', schema: listOf(NetworkRow) } },
    errors: ['INVALID_LIMIT', 'INVALID_CURSOR'],
    async handler({ query }) {
      const page = readPage(query, ports.cursors, ['networks']);
      const rows = await ports.networks.list({ limit: page.limit + 1, after: String(page.after ?? '') });
      return { status: 200, body: page.answer(rows, { item: rowOf, position: ({ networkId }) => networkId }) };
    },
  });
  const get = adminRoute({
    ...base,
    method: 'get',
    path: '/admin/v1/networks/:networkId',
    operationId: 'getNetwork',
    summary: 'Read a network',
    params,
    responses: { 200: { description: 'The network.', schema: NetworkRow } },
    errors: ['NOT_FOUND'],
    async handler(context) {
      return { status: 200, body: rowOf(await findNetwork(ports.networks, context.params.networkId)) };
    },
  });
  const patch = adminRoute({
    ...base,
    method: 'patch',
    path: '/admin/v1/networks/:networkId',
    operationId: 'changeNetwork',
    summary: 'Change name, channels or limits; null limits reset to the defaults',
    params,
    body: ChangeBody,
    bodyMaxBytes: ADMIN_BODY_MAX_BYTES,
    responses: { 200: { description: 'The network.', schema: NetworkRow } },
    errors: ['NOT_FOUND', 'UNKNOWN_CHANNEL'],
    async handler(context) {
      const { networkId } = context.params;
      const { limits = null } = context.body;
      const known = limits === null ? undefined : await ports.networks.find(networkId);
      // Limits from before a larger MAX_BATCH_RECORDS may be repeated.
      if (!isDeepStrictEqual(limits, known?.limits)) checkBurst(limits, ports.maxBatchRecords);
      const also = alsoRecord(context, 'network.change', networkId);
      const network = await changeNetwork(ports, networkId, { change: context.body, also });
      return { status: 200, body: rowOf(network) };
    },
  });
  const remove = adminRoute({
    ...base,
    method: 'delete',
    path: '/admin/v1/networks/:networkId',
    operationId: 'deleteNetwork',
    summary: 'Delete a network without live keys and sources; its records stay, its id is never reused',
    params,
    responses: { 204: { description: 'Deleted, now or before.' } },
    errors: ['NOT_FOUND', 'IN_USE'],
    async handler(context) {
      const { networkId } = context.params;
      await deleteNetwork(ports, networkId, alsoRecord(context, 'network.delete', networkId));
      return { status: 204 };
    },
  });
  return [create, list, get, patch, remove];
}

/** A burst below the batch size would refuse such a batch for ever. */
export function checkBurst(limits: { burst: number } | null, maxBatchRecords: number): void {
  if (limits === null || limits.burst >= maxBatchRecords) return;
  throw new AppError('INVALID_REQUEST', 'The burst is too small.', {
    faults: [
      {
        in: 'body',
        pointer: '/limits/burst',
        detail: `A burst is at least ${maxBatchRecords}, the records of a batch.`,
      },
    ],
  });
}
