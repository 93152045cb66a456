import { adminRoute, exportedList, keyRoutes, keyTerms, keyView, type AdminCaller } from '@sealgate/admin-api';
import type { AuditChange } from '@sealgate/audit';
import { closedObject, type Route } from '@sealgate/http';
import { Type } from '@sinclair/typebox';
import type { SignedKeys } from '../data/keys-store.ts';
import { Key, type KeyGrants } from '../domain/key.ts';
import { answered, DEFAULT_ENVIRONMENT } from '../schemas.ts';
import { EnvironmentQuery, ofEnvironment, type AdminPorts } from './admin-base.ts';

const { label, environment, scopes } = Key.properties;
const MintBody = closedObject({
  label: { ...label, description: 'Its purpose.' },
  environment: { ...environment, description: 'Its environment.' },
  scopes,
  ...keyTerms,
});

const view = keyView<KeyGrants>({
  members: answered(Type.Pick(Key, ['environment', 'scopes'])).properties,
  owner: 'environment',
  rawKey: 'Returned only once.',
});

const IN_ANY = 'The key is found in any environment, unless one is named.';

export interface AdminKeysPorts extends AdminPorts {
  readonly keys: SignedKeys;
}

export function adminKeyRoutes(ports: AdminKeysPorts): Route<AdminCaller>[] {
  const of = keyRoutes({
    ...ports,
    path: '/admin/v1/keys',
    view,
    store: ports.keys,
    audited: (context: Parameters<AuditChange>[0], work) =>
      ports.inSql((sql) =>
        work(sql, (verb, { id, ownerId: environment, detail }) => {
          const change = { action: `key.${verb}`, resource: 'key', resourceId: id, detail: { environment, ...detail } };
          return ports.auditChange(context, change, sql);
        }),
      ),
  });
  /** The ledger may know a key whose row is gone. */
  const environmentOfId = async (id: string, { environment }: { readonly environment?: string }) =>
    environment ?? (await ports.keys.environmentOf(id)) ?? DEFAULT_ENVIRONMENT;
  return [
    adminRoute({
      ...of.minting,
      summary: 'Mint a gk_ key of an environment; only this answer contains the raw key',
      body: MintBody,
      handler(context) {
        const { environment: ownerId, scopes: grants, ...terms } = context.body;
        return of.mint(context, { ...terms, ownerId, grants });
      },
    }),
    ...exportedList({
      ...of.listing('environment'),
      exported: { resource: 'key', of: 'environment', auditChange: ports.auditChange },
      summary: 'List live keys of an environment and those ended in the last 30 days, newest first',
      ...ofEnvironment,
    }),
    adminRoute({
      ...of.reading,
      description: IN_ANY,
      query: EnvironmentQuery,
      handler: async ({ params: { id }, query }) => of.get(await environmentOfId(id, query), id),
    }),
    adminRoute({
      ...of.revoking,
      summary: 'Revoke a key permanently, from the next request on; its predecessor and successor stay valid',
      description: IN_ANY,
      query: EnvironmentQuery,
      async handler(context) {
        const { id } = context.params;
        return of.revoke(context, await environmentOfId(id, context.query), id);
      },
    }),
  ];
}
