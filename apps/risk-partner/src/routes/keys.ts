import type { ApiKeyRow, ApiKeys } from '@sealgate/api-keys';
import { AppError } from '@sealgate/errors';
import { closedObject, listQuery, named, routeFor, type Route } from '@sealgate/http';
import { Type, type Static } from '@sinclair/typebox';
import type { RiskCaller } from '../domain/caller.ts';
import { auditEntry, noSuchRow } from '../domain/manage-resources.ts';
import type { Cursors } from '../domain/read-partner.ts';
import { IdText, ofId, Optional, OrNull, Text, Time } from '../schemas.ts';
import type { RunAudited } from '../audited-changes.ts';
import { barePage, barePageOf } from './bare-page.ts';
import { BODY_MAX_BYTES } from './dashboard.ts';

const route = routeFor<RiskCaller>();

/** A key of this surface has no grants of its own: it has the rights of its person. */
export type NoGrants = Readonly<Record<string, never>>;

const KeyLabel = Type.String({ minLength: 1, maxLength: 1000, pattern: '^[^\\x00-\\x1f\\x7f]*$' });

export const MintBody = closedObject({
  label: KeyLabel,
  replaces: Optional(IdText),
  overlapSeconds: Optional(Type.Integer({ minimum: 0, maximum: 604_800 })),
});

export const MintedKey = named(
  'MintedKey',
  Type.Object({
    id: Text,
    rawKey: Type.String({ description: 'Shown only once.' }),
    label: Text,
    keyPrefix: Text,
    createdAt: Time,
  }),
);

const ENDS_AT = 'The earliest of revocation and, once it was replaced, the end of the overlap; not live from then on.';

export const KeyRow = named(
  'Key',
  Type.Object({
    id: Text,
    label: Text,
    keyPrefix: Text,
    createdAt: Time,
    lastUsedAt: OrNull(Time),
    revokedAt: OrNull(Time),
    endsAt: OrNull({ ...Time, description: ENDS_AT }),
  }),
);

export interface KeysPorts {
  readonly keys: ApiKeys<NoGrants>;
  readonly cursors: Cursors;
  readonly runAudited: RunAudited;
}

const PATH = '/api/api-keys';
const LIST_RANGE = { default: 200, max: 200 } as const;
const base = { charge: 1, idempotency: 'none', tags: ['keys'] } as const;

/** The caller's own keys. */
export function keyRoutes({ keys, cursors, runAudited }: KeysPorts): Route<RiskCaller>[] {
  const mint = route({
    ...base,
    method: 'post',
    path: PATH,
    permit: 'apiKey:create',
    operationId: 'mint_key',
    summary: 'Mint a key of your own; only this response contains the raw key',
    body: MintBody,
    bodyMaxBytes: BODY_MAX_BYTES,
    responses: { 201: { description: 'The key.', schema: MintedKey } },
    errors: ['NOT_FOUND', 'ALREADY_EXISTS', 'LIMIT_REACHED'],
    async handler({ caller, requestId, body }) {
      const key = { ...body, label: trimmedLabel(body.label), ownerId: caller.personId, grants: {} };
      const minted = await runAudited(caller.orgId, async (sql, record) => {
        const made = await keys.mint(key, sql);
        await record(auditEntry('apiKey', 'mint', made.id, { caller, requestId }));
        return made;
      });
      return { status: 201, body: mintedView(minted), holdsSecret: true };
    },
  });
  const list = route({
    ...base,
    method: 'get',
    path: PATH,
    permit: 'apiKey:read',
    operationId: 'list_keys',
    summary: 'List your live keys, and those that ended in the last 30 days, newest first',
    query: listQuery(LIST_RANGE, {}),
    responses: barePageOf(KeyRow),
    errors: [],
    async handler({ caller, query }) {
      const binding = ['keys.v1', caller.orgId, caller.personId];
      const page = barePage(cursors, { path: PATH, binding, query, range: LIST_RANGE });
      const from = page.after as [string, string] | undefined; // As `position` below makes it.
      const after = from === undefined ? {} : { after: { createdAt: new Date(from[0]), id: from[1] } };
      const found = await keys.list(caller.personId, { limit: page.take, ...after });
      const { rows, next } = page.answer(found, ({ createdAt, id }) => [createdAt.toISOString(), id]);
      return { status: 200, body: rows.map(keyView), ...next };
    },
  });
  const revoke = route({
    ...base,
    method: 'delete',
    path: `${PATH}/:id`,
    permit: 'apiKey:delete',
    operationId: 'revoke_key',
    summary: 'Revoke a key of your own; it is refused from the next request on',
    params: ofId,
    responses: { 204: { description: 'Revoked, now or earlier.' } },
    errors: [],
    async handler({ caller, requestId, params }) {
      const { id } = params;
      await runAudited(caller.orgId, async (sql, record) => {
        const outcome = await keys.revoke(caller.personId, id, sql);
        if (outcome === 'missing') throw noSuchRow();
        if (outcome === 'revoked') await record(auditEntry('apiKey', 'revoke', id, { caller, requestId }));
      });
      return { status: 204 };
    },
  });
  return [mint, list, revoke];
}

/** Unicode white space, which differs from what `trim` removes: it includes U+0085, not U+FEFF. */
const SPACE_AROUND = /^\p{White_Space}+|\p{White_Space}+$/gu;

/** @throws AppError INVALID_REQUEST if the trimmed label is empty or too long. */
export function trimmedLabel(text: string): string {
  const label = text.replaceAll(SPACE_AROUND, '');
  const length = [...label].length;
  if (length >= 1 && length <= 100) return label;
  const detail = 'must be 1 to 100 characters, without leading and trailing white space';
  throw new AppError('INVALID_REQUEST', 'The label is empty or too long.', {
    faults: [{ in: 'body', pointer: '/label', detail }],
  });
}

export function mintedView(key: ApiKeyRow<NoGrants> & { readonly rawKey: string }): Static<typeof MintedKey> {
  const { id, rawKey, label, keyPrefix, createdAt } = key;
  return { id, rawKey, label, keyPrefix, createdAt: createdAt.toISOString() };
}

export function keyView(key: ApiKeyRow<NoGrants>): Static<typeof KeyRow> {
  const { id, label, keyPrefix, createdAt, lastUsedAt, revokedAt, endsAt } = key;
  return {
    id,
    label,
    keyPrefix,
    createdAt: createdAt.toISOString(),
    lastUsedAt: lastUsedAt?.toISOString() ?? null,
    revokedAt: revokedAt?.toISOString() ?? null,
    endsAt: endsAt?.toISOString() ?? null,
  };
}
