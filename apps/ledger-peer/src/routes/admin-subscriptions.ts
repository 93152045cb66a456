import { adminRoute, listRoute, OPERATORS_ONLY, resourceRoutes, rowsOf, type AdminCaller } from '@sealgate/admin-api';
import type { AuditChange } from '@sealgate/audit';
import { lineOfText, type Reply, type Route } from '@sealgate/http';
import type { CursorCodec } from '@sealgate/paging';
import {
  changeSubscription,
  createSubscription,
  deleteSubscription,
  findSubscription,
  type Also,
  type ManagedSubscription,
  type ManageSubscriptionsPorts,
} from '../domain/manage-subscriptions.ts';
import { NewSubscription, SubscriptionChange, SubscriptionRow, subscriptionRow } from '../domain/subscription.ts';

export interface AdminSubscriptionsPorts extends ManageSubscriptionsPorts {
  readonly auditChange: AuditChange;
  readonly cursors: CursorCodec;
}

const { creating, listing, reading, changing, deleting } = resourceRoutes({
  name: 'Subscription',
  said: 'The subscription, without the secrets that it had.',
  row: SubscriptionRow,
  path: '/admin/v1/subscriptions',
  id: 'subscriptionId',
  idSchema: lineOfText({ min: 1, max: 128 }),
});
const tags = ['subscriptions'];
const NOTHING_SHOWN: ReadonlyMap<string, string> = new Map();

/** Receivers of events, for operators. */
export function adminSubscriptionRoutes(ports: AdminSubscriptionsPorts): Route<AdminCaller>[] {
  const recorded =
    (context: Parameters<AuditChange>[0], action: string, resourceId: string): Also =>
    (transaction) =>
      ports.auditChange(context, { action, resource: 'subscription', resourceId }, transaction);
  const create = adminRoute({
    ...creating,
    tags,
    summary: 'Deliver the events of a channel to a URL, as signed webhooks',
    description:
      'Each event is a POST of `{type, timestamp, data}` (Standard Webhooks, v1) whose data is a LedgerEvent: in order, ' +
      'one at a time, repeated with growing pauses for 72 hours until it is answered with 2xx within ten seconds. The id ' +
      'of an event is the same in each attempt. Redirects are not followed. Generated secrets are shown in this answer only.',
    body: NewSubscription,
    errors: ['INVALID_CURSOR', 'UNKNOWN_CHANNEL', 'UNKNOWN_CHAINCODE', 'LIMIT_REACHED', 'LEDGER_UNAVAILABLE'],
    async handler(context) {
      const also = (id: string) => recorded(context, 'subscription.create', id);
      return shown(201, await createSubscription(ports, context.body, also));
    },
  });
  const list = listRoute({
    ...listing,
    tags,
    permit: OPERATORS_ONLY,
    summary: 'List subscriptions, newest first',
    boundTo: [],
    search: true,
    sorts: { fields: ['createdAt'], default: '-createdAt' },
    ...rowsOf(
      () => ports.subscriptions.list,
      (row) => subscriptionRow(row, NOTHING_SHOWN),
    ),
    cursors: ports.cursors,
  });
  const get = adminRoute({
    ...reading,
    tags,
    permit: OPERATORS_ONLY,
    summary: 'Read a subscription: how far it is, and what its receiver does',
    handler: async ({ params }) => ({
      status: 200,
      body: subscriptionRow(await findSubscription(ports, params.subscriptionId), NOTHING_SHOWN),
    }),
  });
  const patch = adminRoute({
    ...changing,
    tags,
    summary: 'Change a subscription, pause or resume it, or rotate its secrets',
    description:
      '`secrets` is the complete list, of which each signs: name a new one beside the old one, give its value to the ' +
      'receiver, and remove the old one with a second change. `paused: false` also resumes one that was stopped, from ' +
      'the event that was not acknowledged.',
    body: SubscriptionChange,
    errors: ['UNKNOWN_CHAINCODE'],
    async handler(context) {
      const { subscriptionId } = context.params;
      const also = recorded(context, 'subscription.change', subscriptionId);
      return shown(200, await changeSubscription(ports, subscriptionId, { change: context.body, also }));
    },
  });
  const remove = adminRoute({
    ...deleting,
    tags,
    summary: 'Delete a subscription; what was not delivered is not delivered any more',
    async handler(context) {
      const { subscriptionId } = context.params;
      await deleteSubscription(ports, subscriptionId, recorded(context, 'subscription.delete', subscriptionId));
      return { status: 204 };
    },
  });
  return [create, list, get, patch, remove];
}

const shown = (status: number, { subscription, generated }: ManagedSubscription): Reply => ({
  status,
  body: subscriptionRow(subscription, generated),
  ...(generated.size === 0 ? {} : { holdsSecret: true }),
});
