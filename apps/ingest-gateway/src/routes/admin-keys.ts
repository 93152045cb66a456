import { AppError } from '@sealgate/errors';
import { ADMIN_BODY_MAX_BYTES, ADMIN_LIST_RANGE, adminRoute, readPage, type AdminCaller } from '@sealgate/admin-api';
import { closedObject, enumOf, instantText, listOf, listQuery, named, type Route } from '@sealgate/http';
import { instantOf } from '@sealgate/json';
import type { ApiKeyRow, ApiKeys } from '@sealgate/api-keys';
import type { AuditChange } from '@sealgate/audit';
import type { CursorCodec } from '@sealgate/paging';
import type { Sql } from '@sealgate/storage';
import { Type, type Static } from '@sinclair/typebox';
import { PERMISSIONS, type KeyGrants } from '../domain/caller.ts';
import { findNetwork, type NetworkStore } from '../domain/manage-networks.ts';
import { checkBurst } from './admin-networks.ts';
import { AssetType, IdText, LimitsBody, Name, OrNull, Text, Time } from './schemas.ts';

const MintBody = closedObject({
  label: Name,
  permissions: Type.Optional(
    Type.Array(enumOf('Permission', PERMISSIONS), {
      uniqueItems: true,
      description: 'Absent: everything. Empty: nothing.',
    }),
  ),
  allowedAssetTypes: Type.Optional(
    Type.Array(AssetType, { maxItems: 200, uniqueItems: true, description: 'Absent: all. Empty: none.' }),
  ),
  record: Type.Optional(enumOf('RecordForm', ['envelope', 'whole'])),
  defaultType: Type.Optional(AssetType),
  expiresAt: Type.Optional(instantText()),
  replaces: Type.Optional(IdText),
  overlapSeconds: Type.Optional(Type.Integer({ minimum: 0, maximum: 604_800 })),
  limits: Type.Optional(LimitsBody),
});

const keyMembers = {
  label: Text,
  keyPrefix: Text,
  permissions: OrNull(Type.Array(Text)),
  allowedAssetTypes: OrNull(Type.Array(Text)),
  record: Text,
  defaultType: OrNull(Text),
  limits: OrNull(LimitsBody),
  createdAt: Time,
  expiresAt: OrNull(Time),
  replaces: OrNull(Text),
};

const MintedKey = named(
  'MintedKey',
  Type.Object({ id: Text, rawKey: Type.String({ description: 'Shown only once.' }), ...keyMembers }),
);
const KeyRow = named(
  'Key',
  Type.Object({
    id: Text,
    ...keyMembers,
    revokedAt: OrNull(Time),
    endsAt: OrNull({
      ...Time,
      description: 'The earliest of expiry, revocation and, once it was replaced, the end of the overlap.',
    }),
    lastUsedAt: OrNull(Time),
  }),
);

export interface AdminKeysPorts {
  readonly networks: NetworkStore;
  /** Whether the network exists; if so, locks its row until the transaction ends. */
  readonly holdNetwork: (sql: Sql, networkId: string) => Promise<boolean>;
  readonly keys: ApiKeys<KeyGrants>;
  readonly cursors: CursorCodec;
  /** A key and its audit event are written in one transaction. */
  readonly inTransaction: <Result>(work: (sql: Sql) => Promise<Result>) => Promise<Result>;
  readonly auditChange: AuditChange;
  readonly now: () => number;
  readonly maxBatchRecords: number;
}

const base = { charge: 'none', idempotency: 'none', permit: 'authenticated' } as const;

export function adminKeyRoutes(ports: AdminKeysPorts): Route<AdminCaller>[] {
  const mint = adminRoute({
    ...base,
    method: 'post',
    path: '/admin/v1/networks/:networkId/keys',
    operationId: 'mintKey',
    summary: 'Mint an ingest key; only this answer contains the raw key',
    params: Type.Object({ networkId: IdText }),
    body: MintBody,
    bodyMaxBytes: ADMIN_BODY_MAX_BYTES,
    responses: { 201: { description: 'The key.', schema: MintedKey } },
    errors: ['NOT_FOUND', 'ALREADY_EXISTS', 'LIMIT_REACHED'],
    async handler(context) {
      const { networkId } = context.params;
      const { body } = context;
      checkBurst(body.limits ?? null, ports.maxBatchRecords);
      const expiresAt = expiryOf(body.expiresAt, ports.now());
      const { label, replaces, overlapSeconds } = body;
      const key = {
        ownerId: networkId,
        label,
        grants: grantsOf(body),
        ...(expiresAt === undefined ? {} : { expiresAt }),
        ...(replaces === undefined ? {} : { replaces }),
        ...(overlapSeconds === undefined ? {} : { overlapSeconds }),
      };
      const { rawKey, ...row } = await ports.inTransaction(async (sql) => {
        if (!(await ports.holdNetwork(sql, networkId))) throw new AppError('NOT_FOUND', 'There is no such network.');
        const minted = await ports.keys.mint(key, sql);
        await ports.auditChange(context, { action: 'key.mint', resource: 'key', resourceId: minted.id }, sql);
        return minted;
      });
      return { status: 201, body: { id: row.id, rawKey, ...membersOf(row) }, holdsSecret: true };
    },
  });
  const list = adminRoute({
    ...base,
    method: 'get',
    path: '/admin/v1/networks/:networkId/keys',
    operationId: 'listKeys',
    summary: 'List live keys and those ended in the last 30 days, newest first',
    params: Type.Object({ networkId: IdText }),
    query: listQuery(ADMIN_LIST_RANGE, {}),
    responses: { 200: { description: 'A page.', schema: listOf(KeyRow) } },
    errors: ['NOT_FOUND', 'INVALID_LIMIT', 'INVALID_CURSOR'],
    async handler({ params, query }) {
      await findNetwork(ports.networks, params.networkId);
      const page = readPage(query, ports.cursors, ['keys', params.networkId]);
      const after = page.after === undefined ? {} : { after: positionOf(String(page.after)) };
      const rows = await ports.keys.list(params.networkId, { limit: page.limit + 1, ...after });
      const position = ({ createdAt, id }: ApiKeyRow<KeyGrants>) => `${createdAt.toISOString()} ${id}`;
      return { status: 200, body: page.answer(rows, { item: rowOf, position }) };
    },
  });
  const get = adminRoute({
    ...base,
    method: 'get',
    path: '/admin/v1/networks/:networkId/keys/:id',
    operationId: 'getKey',
    summary: 'Read a key',
    params: Type.Object({ networkId: IdText, id: IdText }),
    responses: { 200: { description: 'The key.', schema: KeyRow } },
    errors: ['NOT_FOUND'],
    async handler({ params }) {
      const row = await ports.keys.get(params.networkId, params.id);
      if (row === undefined) throw new AppError('NOT_FOUND', 'There is no such key.');
      return { status: 200, body: rowOf(row) };
    },
  });
  const revoke = adminRoute({
    ...base,
    method: 'delete',
    path: '/admin/v1/networks/:networkId/keys/:id',
    operationId: 'revokeKey',
    summary: 'Revoke a key; it is refused from the next request on',
    params: Type.Object({ networkId: IdText, id: IdText }),
    responses: { 204: { description: 'Revoked, now or before.' } },
    errors: ['NOT_FOUND'],
    async handler(context) {
      const { networkId, id } = context.params;
      const outcome = await ports.inTransaction(async (sql) => {
        const revoked = await ports.keys.revoke(networkId, id, sql);
        const change = { action: 'key.revoke', resource: 'key', resourceId: id };
        if (revoked === 'revoked') await ports.auditChange(context, change, sql);
        return revoked;
      });
      if (outcome === 'missing') throw new AppError('NOT_FOUND', 'There is no such key.');
      return { status: 204 };
    },
  });
  return [mint, list, get, revoke];
}

function grantsOf(body: Static<typeof MintBody>): KeyGrants {
  const { permissions, allowedAssetTypes, record = 'envelope', defaultType, limits } = body;
  return {
    record,
    ...(permissions === undefined ? {} : { permissions }),
    ...(allowedAssetTypes === undefined ? {} : { allowedAssetTypes }),
    ...(defaultType === undefined ? {} : { defaultType }),
    ...(limits === undefined ? {} : { limits }),
  };
}

function rowOf(row: ApiKeyRow<KeyGrants>): Static<typeof KeyRow> {
  const { id, revokedAt, endsAt, lastUsedAt } = row;
  return {
    id,
    ...membersOf(row),
    revokedAt: revokedAt?.toISOString() ?? null,
    endsAt: endsAt?.toISOString() ?? null,
    lastUsedAt: lastUsedAt?.toISOString() ?? null,
  };
}

function membersOf(row: ApiKeyRow<KeyGrants>): Omit<Static<typeof MintedKey>, 'id' | 'rawKey'> {
  const { permissions, allowedAssetTypes, record, defaultType, limits } = row.grants;
  return {
    label: row.label,
    keyPrefix: row.keyPrefix,
    permissions: permissions === undefined ? null : [...permissions],
    allowedAssetTypes: allowedAssetTypes === undefined ? null : [...allowedAssetTypes],
    record,
    defaultType: defaultType ?? null,
    limits: limits ?? null,
    createdAt: row.createdAt.toISOString(),
    expiresAt: row.expiresAt?.toISOString() ?? null,
    replaces: row.replaces,
  };
}

function expiryOf(text: string | undefined, now: number): Date | undefined {
  if (text === undefined) return undefined;
  const expiresAt = instantOf(text);
  if (expiresAt.getTime() > now) return expiresAt;
  throw new AppError('INVALID_REQUEST', 'The key would never be valid.', {
    faults: [{ in: 'body', pointer: '/expiresAt', detail: 'expiresAt must be in the future.' }],
  });
}

function positionOf(after: string): { createdAt: Date; id: string } {
  const [createdAt = '', id = ''] = after.split(' ');
  return { createdAt: new Date(createdAt), id };
}
