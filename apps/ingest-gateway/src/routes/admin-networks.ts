import { isDeepStrictEqual } from 'node:util';
import { adminRoute, resourceRoutes, rowAnswers, type AdminCaller } from '@sealgate/admin-api';
import { AppError } from '@sealgate/errors';
import { closedObject, named, type Route } from '@sealgate/http';
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

const { creating, listing, reading, changing, deleting } = resourceRoutes({
  name: 'Network',
  said: 'The network.',
  row: NetworkRow,
  path: '/admin/v1/networks',
  id: 'networkId',
  idSchema: IdText,
});

export function adminNetworkRoutes(ports: AdminNetworksPorts): Route<AdminCaller>[] {
  const { networks, cursors, maxBatchRecords } = ports;
  const { created, found, page } = rowAnswers<Network>({
    rowOf: (network) => rowOf(network, ports),
    positionOf: ({ networkId }) => networkId,
    cursors,
  });
  const alsoRecord =
    (context: Parameters<AuditChange>[0], action: string, resourceId: string): Also =>
    (transaction) =>
      ports.auditChange(context, { action, resource: 'network', resourceId }, transaction);
  return [
    adminRoute({
      ...creating,
      summary: 'Create a network',
      body: NewNetworkBody,
      errors: ['ALREADY_EXISTS', 'UNKNOWN_CHANNEL'],
      async handler(context) {
        const { networkId, name = null, channels = ['main'], limits = null } = context.body;
        checkBurst(limits, maxBatchRecords);
        const also = alsoRecord(context, 'network.create', networkId);
        return created(await createNetwork(ports, { networkId, name, channels, limits }, also));
      },
    }),
    adminRoute({
      ...listing,
      summary: 'List networks by id',
      handler: ({ query }) => page(query, ['networks'], (after) => networks.list(after)),
    }),
    adminRoute({
      ...reading,
      summary: 'Read a network',
      handler: async ({ params }) => found(await findNetwork(networks, params.networkId)),
    }),
    adminRoute({
      ...changing,
      summary: 'Change name, channels or limits; null limits reset to the defaults',
      body: ChangeBody,
      errors: ['UNKNOWN_CHANNEL'],
      async handler(context) {
        const { networkId } = context.params;
        const { limits = null } = context.body;
        const known = limits === null ? undefined : await networks.find(networkId);
        // Limits from before a larger MAX_BATCH_RECORDS may be repeated.
        if (!isDeepStrictEqual(limits, known?.limits)) checkBurst(limits, maxBatchRecords);
        const also = alsoRecord(context, 'network.change', networkId);
        return found(await changeNetwork(ports, networkId, { change: context.body, also }));
      },
    }),
    adminRoute({
      ...deleting,
      summary: 'Delete a network without live keys and sources; its records stay, its id is never reused',
      errors: ['IN_USE'],
      async handler(context) {
        const { networkId } = context.params;
        await deleteNetwork(ports, networkId, alsoRecord(context, 'network.delete', networkId));
        return { status: 204 };
      },
    }),
  ];
}

function rowOf(
  network: Network,
  { defaultLimits }: Pick<AdminNetworksPorts, 'defaultLimits'>,
): Static<typeof NetworkRow> {
  return {
    networkId: network.networkId,
    name: network.name,
    channels: [...network.channels],
    limits: network.limits ?? defaultLimits,
    createdAt: network.createdAt.toISOString(),
  };
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
