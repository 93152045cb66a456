import {
  adminRoute,
  exportedList,
  keyRoutes,
  keyTerms,
  keyView,
  type AdminCaller,
  type AuditLedgerChange,
} from '@sealgate/admin-api';
import type { AuditChange } from '@sealgate/audit';
import type { ApiKeys } from '@sealgate/api-keys';
import type { NewApiKey } from '@sealgate/auth';
import { AppError } from '@sealgate/errors';
import { closedObject, type Route } from '@sealgate/http';
import type { CursorCodec } from '@sealgate/paging';
import type { Sql } from '@sealgate/storage';
import { answered } from '@sealgate/schemas';
import { Type } from '@sinclair/typebox';
import { KeyGrants } from '../domain/key.ts';
import { findNetwork, type NetworkStore } from '../domain/manage-networks.ts';
import { checkBurst } from './admin-networks.ts';
import { IdText, Name, Text } from '../schemas.ts';

const { limits, ...asked } = Type.Partial(KeyGrants).properties;
const MintBody = closedObject({ label: { ...Name, description: 'Its purpose.' }, ...asked, ...keyTerms, limits });

// A text in answers, so that clients accept forms that are added later.
const view = keyView<KeyGrants>({ members: { ...answered(KeyGrants).properties, record: Text } });

export interface AdminKeysPorts {
  readonly networks: NetworkStore;
  /** Whether the network exists; if so, locks its row until the transaction ends. */
  readonly holdNetwork: (sql: Sql, networkId: string) => Promise<boolean>;
  readonly keys: ApiKeys<KeyGrants>;
  readonly cursors: CursorCodec;
  /** A key and its audit event are written in one transaction. */
  readonly inTransaction: <Result>(work: (sql: Sql) => Promise<Result>) => Promise<Result>;
  readonly auditChange: AuditChange & AuditLedgerChange;
  readonly now: () => number;
  readonly maxBatchRecords: number;
}

export function adminKeyRoutes(ports: AdminKeysPorts): Route<AdminCaller>[] {
  const { networks, holdNetwork, keys, cursors, inTransaction, auditChange, now, maxBatchRecords } = ports;
  const of = keyRoutes({
    path: '/admin/v1/networks/:networkId/keys',
    params: { networkId: IdText },
    view,
    store: {
      ...keys,
      async mint(key: NewApiKey<KeyGrants>, sql: Sql) {
        if (!(await holdNetwork(sql, key.ownerId))) throw new AppError('NOT_FOUND', 'There is no such network.');
        return keys.mint(key, sql);
      },
    },
    audited: (context: Parameters<AuditChange>[0], work) =>
      inTransaction((sql) =>
        work(sql, (verb, { id, detail }) =>
          auditChange(context, { action: `key.${verb}`, resource: 'key', resourceId: id, detail }, sql),
        ),
      ),
    cursors,
    now,
  });
  return [
    adminRoute({
      ...of.minting,
      summary: 'Mint an ingest key; only this answer contains the raw key',
      body: MintBody,
      async handler(context) {
        const { label, expiresAt, replaces, overlapSeconds, record = 'envelope', ...grants } = context.body;
        checkBurst(grants.limits ?? null, maxBatchRecords);
        const terms = { label, expiresAt, replaces, overlapSeconds };
        return of.mint(context, { ...terms, ownerId: context.params.networkId, grants: { record, ...grants } });
      },
    }),
    ...exportedList({
      ...of.listing('networkId'),
      exported: { resource: 'key', of: 'networkId', auditChange: auditChange },
      summary: 'List live keys and those ended in the last 30 days, newest first',
      holder: ({ networkId }) => findNetwork(networks, networkId),
    }),
    adminRoute({ ...of.reading, handler: ({ params }) => of.get(params.networkId, params.id) }),
    adminRoute({
      ...of.revoking,
      summary: 'Revoke a key permanently, from the next request on; its predecessor and successor stay valid',
      responses: { 204: { description: 'Revoked, now or before.' } },
      handler: (context) => of.revoke(context, context.params.networkId, context.params.id),
    }),
  ];
}
