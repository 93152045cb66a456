import type { ApiKeyRow, KeyPosition, KeyStore, MintedApiKey } from '@sealgate/auth';
import { AppError } from '@sealgate/errors';
import { instantText, lineOfText, named, orNull, type Reply } from '@sealgate/http';
import { instantOf } from '@sealgate/json';
import type { CursorCodec } from '@sealgate/paging';
import { Type, type TProperties, type TSchema } from '@sinclair/typebox';
import { readPage } from './admin-app.ts';
import { resourceRoutes } from './resource-routes.ts';

/** What a body asks of a new key, whatever its surface. */
interface KeyTerms {
  readonly label: string;
  readonly expiresAt?: string | undefined;
  readonly replaces?: string | undefined;
  readonly overlapSeconds?: number | undefined;
}

/** How a surface shows its keys. */
export interface KeyView<Grants> {
  readonly minted: TSchema;
  readonly mintedOf: (key: MintedApiKey<Grants>) => object;
  readonly row: TSchema;
  readonly rowOf: (key: ApiKeyRow<Grants>) => object;
}

interface KeyRoutesOptions<Path extends string, Grants, NewGrants, Sql, Context> {
  readonly path: Path;
  /** The parameters in `path`. */
  readonly params?: TProperties;
  readonly view: KeyView<Grants>;
  readonly store: KeyStore<Grants, Sql, NewGrants>;
  /** Runs a change in one transaction, in which `record` writes its audit event. */
  readonly audited: <Result>(
    context: Context,
    work: (
      sql: Sql,
      record: (verb: 'mint' | 'revoke', key: { readonly id: string; readonly ownerId: string }) => Promise<void>,
    ) => Promise<Result>,
  ) => Promise<Result>;
  readonly cursors: CursorCodec;
  readonly now: () => number;
}

/** An id in a path or a body. A value that cannot be an id finds no row. */
const IdText = lineOfText({ min: 1, max: 1024 });
const Text = Type.String();
const Time = instantText();

/** Members of the body of a mint: the key that the new one replaces, and for how long both are live. */
export const rotationTerms = {
  replaces: Type.Optional(IdText),
  overlapSeconds: Type.Optional(Type.Integer({ minimum: 0, maximum: 604_800 })),
};
/** Members of the body of a mint, with the end of the key. */
export const keyTerms = { expiresAt: Type.Optional(instantText()), ...rotationTerms };

/** The view of a key that shows everything; `members` are those that only this surface has. */
export function keyView<Grants>({
  members,
  membersOf,
  rawKey = 'Shown only once.',
}: {
  readonly members: TProperties;
  readonly membersOf: (key: ApiKeyRow<Grants>) => object;
  readonly rawKey?: string;
}): KeyView<Grants> {
  const ends = 'The earliest of expiry, revocation and, once it was replaced, the end of the overlap.';
  const own = {
    label: Text,
    keyPrefix: Text,
    ...members,
    createdAt: Time,
    expiresAt: orNull(Time),
    replaces: orNull(Text),
  };
  const ending = { revokedAt: orNull(Time), endsAt: orNull({ ...Time, description: ends }), lastUsedAt: orNull(Time) };
  const ownOf = (key: ApiKeyRow<Grants>) => ({
    label: key.label,
    keyPrefix: key.keyPrefix,
    ...membersOf(key),
    createdAt: key.createdAt.toISOString(),
    expiresAt: timeText(key.expiresAt),
    replaces: key.replaces,
  });
  return {
    minted: named('MintedKey', Type.Object({ id: Text, rawKey: Type.String({ description: rawKey }), ...own })),
    mintedOf: (key) => ({ id: key.id, rawKey: key.rawKey, ...ownOf(key) }),
    row: named('Key', Type.Object({ id: Text, ...own, ...ending })),
    rowOf: (key) => ({ id: key.id, ...ownOf(key), ...endingOf(key) }),
  };
}

/** The end and the last use of a key as rows show them. */
export function endingOf({ revokedAt, endsAt, lastUsedAt }: ApiKeyRow<unknown>) {
  return { revokedAt: timeText(revokedAt), endsAt: timeText(endsAt), lastUsedAt: timeText(lastUsedAt) };
}

/** The place of a key in a list, as a cursor holds it. */
export const keyPosition = ({ createdAt, id }: KeyPosition): [string, string] => [createdAt.toISOString(), id];

/** The member of a page that continues after the position of a cursor; empty on the first page. */
export function afterKey(position: unknown): { readonly after?: KeyPosition } {
  if (position === undefined) return {};
  const [createdAt, id] = position as ReturnType<typeof keyPosition>; // Cursors are authenticated.
  return { after: { createdAt: new Date(createdAt), id } };
}

/**
 * What the routes of the keys of a surface have in common: most fields of the four routes, and what their handlers do.
 * The surface adds summaries, access where it is not the admin listener's, and whose keys a request means.
 */
export function keyRoutes<const Path extends string, Grants, NewGrants, Sql, Context>(
  options: KeyRoutesOptions<Path, Grants, NewGrants, Sql, Context>,
) {
  const { path, params, view, store, audited, cursors, now } = options;
  const { creating, listing, reading, deleting } = resourceRoutes({
    name: 'Key',
    said: 'The key.',
    row: view.row,
    path,
    params,
    id: 'id',
    idSchema: IdText,
  });
  return {
    minting: {
      ...creating,
      operationId: 'mintKey',
      responses: { 201: { description: 'The key.', schema: view.minted } },
      errors: ['NOT_FOUND', 'ALREADY_EXISTS', 'LIMIT_REACHED'],
    },
    /** @throws AppError INVALID_REQUEST if the key would never be valid; what the store throws. */
    async mint(
      context: Context,
      key: KeyTerms & { readonly ownerId: string; readonly grants: NewGrants },
    ): Promise<Reply> {
      const { ownerId, label, grants, expiresAt, replaces, overlapSeconds } = key;
      const order = {
        ownerId,
        label,
        grants,
        ...expiryOf(expiresAt, now()),
        ...(replaces === undefined ? {} : { replaces }),
        ...(overlapSeconds === undefined ? {} : { overlapSeconds }),
      };
      const minted = await audited(context, async (sql, record) => {
        const made = await store.mint(order, sql);
        await record('mint', { id: made.id, ownerId });
        return made;
      });
      return { status: 201, body: view.mintedOf(minted), holdsSecret: true };
    },

    listing,
    /** @throws AppError INVALID_LIMIT, INVALID_CURSOR. */
    async list(ownerId: string, query: { readonly limit?: string; readonly cursor?: string }): Promise<Reply> {
      const page = readPage(query, cursors, ['key list', ownerId]);
      const rows = await store.list(ownerId, { limit: page.limit + 1, ...afterKey(page.after) });
      return { status: 200, body: page.answer(rows, { item: view.rowOf, position: keyPosition }) };
    },

    reading: { ...reading, summary: 'Read a key' },
    /** @throws AppError NOT_FOUND. */
    async get(ownerId: string, id: string): Promise<Reply> {
      const key = await store.get(ownerId, id);
      if (key === undefined) throw noKey();
      return { status: 200, body: view.rowOf(key) };
    },

    revoking: {
      ...deleting,
      operationId: 'revokeKey',
      responses: { 204: { description: 'Revoked, now or earlier.' } },
    },
    /** @throws AppError NOT_FOUND. */
    async revoke(context: Context, ownerId: string, id: string): Promise<Reply> {
      await audited(context, async (sql, record) => {
        const outcome = await store.revoke(ownerId, id, sql);
        if (outcome === 'missing') throw noKey();
        if (outcome === 'revoked') await record('revoke', { id, ownerId });
      });
      return { status: 204 };
    },
  } as const;
}

const noKey = (): AppError => new AppError('NOT_FOUND', 'There is no such key.');

const timeText = (at: Date | null): string | null => at?.toISOString() ?? null;

function expiryOf(text: string | undefined, now: number): { readonly expiresAt?: Date } {
  if (text === undefined) return {};
  const expiresAt = instantOf(text);
  if (expiresAt.getTime() > now) return { expiresAt };
  throw new AppError('INVALID_REQUEST', 'The key would never be valid.', {
    faults: [{ in: 'body', pointer: '/expiresAt', detail: 'expiresAt must be in the future.' }],
  });
}
