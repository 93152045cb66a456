import { isDeepStrictEqual } from 'node:util';
import {
  adminRoute,
  exportedList,
  resourceRoutes,
  rowAnswers,
  rowsOf,
  type AdminCaller,
  type AuditLedgerChange,
} from '@sealgate/admin-api';
import { AppError } from '@sealgate/errors';
import type { Route } from '@sealgate/http';
import type { AuditChange } from '@sealgate/audit';
import type { CursorCodec } from '@sealgate/paging';
import {
  changeNetwork,
  createNetwork,
  deleteNetwork,
  findNetwork,
  type Also,
  type NetworkPorts,
} from '../domain/manage-networks.ts';
import { NetworkChange, NetworkView, NewNetwork, type Network } from '../domain/network.ts';
import { IdText, type Limits } from '../schemas.ts';

export interface AdminNetworksPorts extends NetworkPorts {
  readonly cursors: CursorCodec;
  readonly auditChange: AuditChange & AuditLedgerChange;
  /** Of networks without limits of their own. */
  readonly defaultLimits: Limits;
  readonly maxBatchRecords: number;
}

const { creating, listing, reading, changing, deleting } = resourceRoutes({
  name: 'Network',
  said: 'The network.',
  row: NetworkView,
  path: '/admin/v1/networks',
  id: 'networkId',
  idSchema: IdText,
});

export function adminNetworkRoutes(ports: AdminNetworksPorts): Route<AdminCaller>[] {
  const { networks, cursors, defaultLimits, maxBatchRecords } = ports;
  const rowOf = (network: Network) => ({ ...network, limits: network.limits ?? defaultLimits });
  const { created, found } = rowAnswers(rowOf);
  const alsoRecord =
    (context: Parameters<AuditChange>[0], action: string, resourceId: string): Also =>
    (transaction) =>
      ports.auditChange(context, { action, resource: 'network', resourceId }, transaction);
  return [
    adminRoute({
      ...creating,
      summary: 'Create a network',
      description:
        'An id is 2 to 63 characters of a-z, 0-9 and -, and is never reused, not even after the network is deleted.',
      body: NewNetwork,
      errors: ['ALREADY_EXISTS', 'UNKNOWN_CHANNEL'],
      async handler(context) {
        const { networkId, name = null, channels = ['main'], limits = null } = context.body;
        checkBurst(limits, maxBatchRecords);
        const also = alsoRecord(context, 'network.create', networkId);
        return created(await createNetwork(ports, { networkId, name, channels, limits }, also));
      },
    }),
    ...exportedList({
      ...listing,
      summary: 'List networks by id',
      boundTo: [],
      search: true,
      sorts: { fields: ['networkId', 'name', 'createdAt'], default: 'networkId' },
      ...rowsOf(() => networks.list, rowOf),
      exported: { resource: 'network', auditChange: ports.auditChange },
      cursors,
    }),
    adminRoute({
      ...reading,
      summary: 'Read a network',
      handler: async ({ params }) => found(await findNetwork(networks, params.networkId)),
    }),
    adminRoute({
      ...changing,
      summary: 'Change name, channels or limits of a network',
      description:
        'The given channels replace the existing ones; null limits are reset to the defaults. New limits take effect within ' +
        '2 s.',
      body: NetworkChange,
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

/** A burst below the batch size would refuse such a batch for ever. */
export function checkBurst(limits: Limits | null, maxBatchRecords: number): void {
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
