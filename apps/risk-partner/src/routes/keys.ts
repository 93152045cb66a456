import {
  adminRoute,
  describedTerms,
  exportedList,
  keyPosition,
  keyRoutes as routesOf,
  keyView,
  rotationTerms,
  type AdminCaller,
} from '@sealgate/admin-api';
import type { ApiKeys } from '@sealgate/api-keys';
import type { KeyPosition } from '@sealgate/auth';
import { AppError } from '@sealgate/errors';
import { closedObject, listQuery, orNull, routeFor, type Route } from '@sealgate/http';
import type { CursorCodec } from '@sealgate/paging';
import { Type } from '@sinclair/typebox';
import type { RiskCaller } from '../domain/caller.ts';
import { adminEntry, findPerson, type AdminContext, type PeoplePorts } from '../domain/manage-orgs.ts';
import { auditEntry, noSuchRow } from '../domain/manage-resources.ts';
import { IdText, ofId, Optional, Text, Time } from '../schemas.ts';
import type { RunAudited } from '../audited-changes.ts';
import type { AdminListPorts } from './admin-orgs.ts';
import { barePage, barePageOf } from './bare-page.ts';
import { BODY_MAX_BYTES } from './dashboard.ts';

const route = routeFor<RiskCaller>();

/** A key of this surface has no grants of its own: it has the rights of its person. */
export type NoGrants = Readonly<Record<string, never>>;

const KeyLabel = Type.String({ minLength: 1, maxLength: 1000, pattern: '^[^\\x00-\\x1f\\x7f]*$' });
const MintBody = closedObject({ label: KeyLabel, ...rotationTerms, replaces: Optional(IdText) });
const MintForPerson = closedObject({
  label: { ...KeyLabel, description: 'Its purpose.' },
  ...describedTerms,
  replaces: Optional({ ...IdText, description: describedTerms.replaces.description }),
});

const ENDS_AT = 'The earliest of revocation and, once it was replaced, the end of the overlap; not live from then on.';
const view = keyView<NoGrants>({
  own: { label: Text, keyPrefix: Text, createdAt: Time },
  ending: { lastUsedAt: orNull(Time), revokedAt: orNull(Time), endsAt: orNull({ ...Time, description: ENDS_AT }) },
});

export interface KeysPorts {
  readonly keys: ApiKeys<NoGrants>;
  readonly cursors: CursorCodec;
  readonly runAudited: RunAudited;
  readonly now: () => number;
}

const PATH = '/api/api-keys';
const LIST_RANGE = { default: 200, max: 200 } as const;
const own = { charge: 1, tags: ['keys'] } as const;

/** The caller's own keys. */
export function keyRoutes({ runAudited, ...ports }: KeysPorts): Route<RiskCaller>[] {
  const { keys, cursors } = ports;
  const of = routesOf({
    ...ports,
    path: PATH,
    view,
    store: keys,
    noKey: noSuchRow,
    audited: (context: Parameters<typeof auditEntry>[3], work) =>
      runAudited(context.caller.orgId, (sql, record) =>
        work(sql, (verb, { id, detail }) => record({ ...auditEntry('apiKey', verb, id, context), detail })),
      ),
  });
  return [
    route({
      ...of.minting,
      ...own,
      permit: 'apiKey:create',
      operationId: 'mint_key',
      summary: 'Mint a key of your own; only this response contains the raw key',
      body: MintBody,
      bodyMaxBytes: BODY_MAX_BYTES,
      async handler(context) {
        const label = trimmedLabel(context.body.label);
        return of.mint(context, { ...context.body, label, ownerId: context.caller.personId, grants: {} });
      },
    }),
    route({
      ...own,
      looks: true,
      method: 'get',
      path: PATH,
      idempotency: 'none',
      permit: 'apiKey:read',
      operationId: 'list_keys',
      summary: 'List your live keys, and those that ended in the last 30 days, newest first',
      query: listQuery(LIST_RANGE, {}),
      responses: barePageOf(view.row),
      errors: [],
      async handler({ caller, query }) {
        const binding = ['keys.v1', caller.orgId, caller.personId];
        const page = barePage(cursors, { path: PATH, binding, query, range: LIST_RANGE });
        const after = page.after as KeyPosition | undefined; // As `keyPosition` makes it.
        const found = await keys.list(caller.personId, { limit: page.take, after });
        const { rows, next } = page.answer(found, keyPosition);
        return { status: 200, body: rows.map(view.rowOf), ...next };
      },
    }),
    route({
      ...of.revoking,
      ...own,
      permit: 'apiKey:delete',
      operationId: 'revoke_key',
      summary: 'Revoke a key of your own; it is refused from the next request on',
      params: ofId,
      handler: (context) => of.revoke(context, context.caller.personId, context.params.id),
    }),
  ];
}

/** The keys of a person, for operators. */
export function personKeyRoutes({
  runAudited,
  people,
  auditChange,
  ...ports
}: KeysPorts & PeoplePorts & AdminListPorts): Route<AdminCaller>[] {
  const of = routesOf({
    ...ports,
    path: '/admin/v1/orgs/:orgId/people/:personId/keys',
    params: { orgId: IdText, personId: IdText },
    view,
    store: ports.keys,
    audited: (context: AdminContext & { readonly params: { readonly orgId: string } }, work) =>
      runAudited(context.params.orgId, (sql, record) =>
        work(sql, (verb, { id, detail }) => record({ ...adminEntry('apiKey', verb, id, context), detail })),
      ),
  });
  return [
    adminRoute({
      ...of.minting,
      operationId: 'mintPersonKey',
      summary: 'Mint a key for a person; only this response contains the raw key',
      description: 'A key always has the rights of its person. The same key works for MCP.',
      body: MintForPerson,
      async handler(context) {
        const { orgId, personId } = context.params;
        const label = trimmedLabel(context.body.label);
        await findPerson(people, orgId, personId);
        return of.mint(context, { ...context.body, label, ownerId: personId, grants: {} });
      },
    }),
    ...exportedList({
      ...of.listing('personId'),
      operationId: 'listPersonKeys',
      summary: 'List the keys of a person, newest first unless sorted',
      holder: ({ orgId, personId }) => findPerson(people, orgId, personId),
      exported: { resource: 'apiKey', of: 'personId', auditChange },
    }),
  ];
}

/** Unicode white space, which differs from what `trim` removes: it includes U+0085, not U+FEFF. */
const SPACE_AROUND = /^\p{White_Space}+|\p{White_Space}+$/gu;

/** @throws AppError INVALID_REQUEST if the trimmed label is empty or too long. */
function trimmedLabel(text: string): string {
  const label = text.replaceAll(SPACE_AROUND, '');
  const length = [...label].length;
  if (length >= 1 && length <= 100) return label;
  const detail = 'must be 1 to 100 characters, without leading and trailing white space';
  throw new AppError('INVALID_REQUEST', 'The label is empty or too long.', {
    faults: [{ in: 'body', pointer: '/label', detail }],
  });
}
