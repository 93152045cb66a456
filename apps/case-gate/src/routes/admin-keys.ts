import type { ApiKeyRow, ApiKeys } from '@sealgate/api-keys';
import { AppError } from '@sealgate/errors';
import { ADMIN_BODY_MAX_BYTES, ADMIN_LIST_RANGE, adminRoute, readPage, type AdminCaller } from '@sealgate/admin-api';
import { closedObject, enumOf, instantText, listOf, listQuery, named, type Route } from '@sealgate/http';
import { instantOf } from '@sealgate/json';
import { Type, type Static } from '@sinclair/typebox';
import type { RecordingSql } from '../data/ledger-writer.ts';
import { SCOPES, type KeyGrants, type Scope } from '../domain/key-grants.ts';
import { Environment, IdText, Name, OrNull, Text, Texts, Time } from '../schemas.ts';
import {
  adminBase,
  definedOf,
  EnvironmentQuery,
  environmentOf,
  environmentQuery,
  timePosition,
  timePositionOf,
  type AdminPorts,
} from './admin-base.ts';

const MintBody = closedObject({
  label: Name,
  environment: Environment,
  scopes: Type.Array(enumOf('Scope', SCOPES), { uniqueItems: true }),
  expiresAt: Type.Optional(instantText()),
  replaces: Type.Optional(IdText),
  overlapSeconds: Type.Optional(Type.Integer({ minimum: 0, maximum: 604_800 })),
});

const keyMembers = {
  label: Text,
  keyPrefix: Text,
  environment: Text,
  scopes: Texts,
  createdAt: Time,
  expiresAt: OrNull(Time),
  replaces: OrNull(Text),
};
const MintedKey = named(
  'MintedKey',
  Type.Object({ id: Text, rawKey: Type.String({ description: 'Returned only once.' }), ...keyMembers }),
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

/** A key to mint. */
interface MintOrder {
  readonly environment: string;
  readonly label: string;
  readonly scopes: readonly Scope[];
  readonly expiresAt?: Date;
  readonly replaces?: string;
  readonly overlapSeconds?: number;
}

export interface AdminKeysPorts extends AdminPorts {
  readonly keys: Pick<ApiKeys<KeyGrants>, 'list' | 'get'>;
  readonly mintKey: (
    sql: RecordingSql,
    order: MintOrder,
  ) => Promise<ApiKeyRow<KeyGrants> & { readonly rawKey: string }>;
  readonly revokeKey: (
    sql: RecordingSql,
    environment: string,
    id: string,
  ) => Promise<'revoked' | 'already' | 'missing'>;
  /** The environment of a key; undefined where there is no such key. */
  readonly environmentOfKey: (id: string) => Promise<string | undefined>;
}

const ofKey = Type.Object({ id: IdText });

export function adminKeyRoutes(ports: AdminKeysPorts): Route<AdminCaller>[] {
  /** A key is found in any environment unless one is named. */
  const environmentOfId = async (id: string, named: string | undefined): Promise<string> => {
    const environment = named ?? (await ports.environmentOfKey(id));
    if (environment === undefined) throw noKey();
    return environment;
  };
  const list = adminRoute({
    ...adminBase,
    method: 'get',
    path: '/admin/v1/keys',
    operationId: 'listKeys',
    summary: 'List live keys of an environment and those ended in the last 30 days, newest first',
    query: listQuery(ADMIN_LIST_RANGE, environmentQuery),
    responses: { 200: { description: 'A page.', schema: listOf(KeyRow) } },
    errors: [],
    async handler({ query }) {
      const environment = environmentOf({}, query);
      const page = readPage(query, ports.cursors, ['keys', environment]);
      const after = timePositionOf(page.after);
      const from = after === undefined ? {} : { after: { createdAt: after.at, id: after.id } };
      const rows = await ports.keys.list(environment, { limit: page.limit + 1, ...from });
      const position = ({ createdAt, id }: ApiKeyRow<KeyGrants>) => timePosition(createdAt, id);
      return { status: 200, body: page.answer(rows, { item: rowOf, position }) };
    },
  });
  const get = adminRoute({
    ...adminBase,
    method: 'get',
    path: '/admin/v1/keys/:id',
    operationId: 'getKey',
    summary: 'Read a key',
    params: ofKey,
    query: EnvironmentQuery,
    responses: { 200: { description: 'The key.', schema: KeyRow } },
    errors: ['NOT_FOUND'],
    async handler({ params, query }) {
      const row = await ports.keys.get(await environmentOfId(params.id, query.environment), params.id);
      if (row === undefined) throw noKey();
      return { status: 200, body: rowOf(row) };
    },
  });
  const revoke = adminRoute({
    ...adminBase,
    method: 'delete',
    path: '/admin/v1/keys/:id',
    operationId: 'revokeKey',
    summary: 'Revoke a key, from the next request on',
    params: ofKey,
    query: EnvironmentQuery,
    responses: { 204: { description: 'Revoked, now or earlier.' } },
    errors: ['NOT_FOUND'],
    async handler(context) {
      const { id } = context.params;
      // The ledger may know a key whose row is gone.
      const named = context.query.environment ?? (await ports.environmentOfKey(id));
      const environment = environmentOf({}, { environment: named });
      const outcome = await ports.inSql(async (sql) => {
        const revoked = await ports.revokeKey(sql, environment, id);
        const change = { action: 'key.revoke', resource: 'key', resourceId: id, detail: { environment } };
        if (revoked === 'revoked') await ports.auditChange(context, change, sql);
        return revoked;
      });
      if (outcome === 'missing') throw noKey();
      return { status: 204 };
    },
  });
  return [mintRoute(ports), list, get, revoke];
}

function mintRoute(ports: AdminKeysPorts): Route<AdminCaller> {
  return adminRoute({
    ...adminBase,
    method: 'post',
    path: '/admin/v1/keys',
    operationId: 'mintKey',
    summary: 'Mint a gk_ key; only this answer contains its raw form',
    body: MintBody,
    bodyMaxBytes: ADMIN_BODY_MAX_BYTES,
    responses: { 201: { description: 'The key.', schema: MintedKey } },
    errors: ['NOT_FOUND', 'ALREADY_EXISTS', 'LIMIT_REACHED'],
    async handler(context) {
      const { environment, label, scopes, replaces, overlapSeconds, expiresAt: ends } = context.body;
      const expiresAt = expiryOf(ends, ports.now());
      const order: MintOrder = { environment, label, scopes, ...definedOf({ expiresAt, replaces, overlapSeconds }) };
      const { rawKey, ...row } = await ports.inSql(async (sql) => {
        const minted = await ports.mintKey(sql, order);
        const change = { action: 'key.mint', resource: 'key', resourceId: minted.id, detail: { environment } };
        await ports.auditChange(context, change, sql);
        return minted;
      });
      return { status: 201, body: { id: row.id, rawKey, ...membersOf(row) }, holdsSecret: true };
    },
  });
}

function noKey(): AppError {
  return new AppError('NOT_FOUND', 'There is no such key.');
}

function rowOf(row: ApiKeyRow<KeyGrants>): Static<typeof KeyRow> {
  const { id, revokedAt, endsAt, lastUsedAt } = row;
  const text = (time: Date | null) => time?.toISOString() ?? null;
  const times = { revokedAt: text(revokedAt), endsAt: text(endsAt), lastUsedAt: text(lastUsedAt) };
  return { id, ...membersOf(row), ...times };
}

function membersOf(row: ApiKeyRow<KeyGrants>): Omit<Static<typeof MintedKey>, 'id' | 'rawKey'> {
  return {
    label: row.label,
    keyPrefix: row.keyPrefix,
    environment: row.ownerId,
    scopes: [...row.grants.scopes],
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
