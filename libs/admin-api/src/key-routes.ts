import type { ApiKeyRow, KeyPosition, KeyStore, MintedApiKey, NewApiKey } from '@sealgate/auth';
import { AppError } from '@sealgate/errors';
import { instantText, lineOfText, named, orNull, type Reply } from '@sealgate/http';
import { instantOf } from '@sealgate/json';
import type { CursorCodec, ListOrder, ListPosition, TableList } from '@sealgate/paging';
import { Type, type TObject, type TProperties } from '@sinclair/typebox';
import { type PageOf, rowsOf } from './list-route.ts';
import { resourceRoutes } from './resource-routes.ts';

/** How a surface shows its keys. */
type KeyView<Grants> = ReturnType<typeof keyView<Grants>>;

interface ChangedKey {
  readonly id: string;
  readonly ownerId: string;
  /** Of `rotate`, which is about the old key. */
  readonly detail?: { readonly replacedBy: string; readonly overlapSeconds: number };
}

interface KeyRoutesOptions<Path extends string, Grants, NewGrants, Sql, Context> {
  readonly path: Path;
  /** The parameters in `path`. */
  readonly params?: TProperties;
  readonly view: KeyView<Grants>;
  readonly store: KeyStore<Grants, Sql, NewGrants> & {
    readonly listing: TableList<{ readonly ownerId: string }, ApiKeyRow<Grants>, KeyOrder>;
  };
  /** Runs a change in one transaction, in which `record` writes its audit event. */
  readonly audited: <Result>(
    context: Context,
    work: (sql: Sql, record: (verb: 'mint' | 'rotate' | 'revoke', key: ChangedKey) => Promise<void>) => Promise<Result>,
  ) => Promise<Result>;
  readonly cursors: CursorCodec;
  readonly now: () => number;
  /** The refusal where there is no such key. */
  readonly noKey?: () => AppError;
}

/** What keys are sorted by. */
const KEY_ORDERS = ['createdAt', 'label', 'endsAt', 'lastUsedAt'] as const;
type KeyOrder = (typeof KEY_ORDERS)[number];

/** An id in a path or a body. A value that cannot be an id finds no row. */
const IdText = lineOfText({ min: 1, max: 1024 });
const Text = Type.String();
const Time = instantText();

/** Members of the body of a mint: the key that the new one replaces, and for how long both are live. */
export const rotationTerms = {
  replaces: Type.Optional(IdText),
  overlapSeconds: Type.Optional(Type.Integer({ minimum: 0, maximum: 604_800 })),
};
const REPLACES = 'The live key of the same owner that it replaces, to rotate it.';
const OVERLAP = 'How long the replaced key stays valid, so that its callers can switch; default 0.';
/** The same as the admin listener describes them. */
export const describedTerms = {
  replaces: Type.Optional({ ...IdText, description: REPLACES }),
  overlapSeconds: Type.Optional({ ...rotationTerms.overlapSeconds, description: OVERLAP }),
};
/** Members of the body of a mint, with the end of the key. */
export const keyTerms = {
  expiresAt: Type.Optional({ ...instantText(), description: 'When it ends; default: never.' }),
  ...describedTerms,
};

const ENDS_AT = 'The earliest of expiry, revocation and, once it was replaced, the end of the overlap.';
const ENDING = {
  revokedAt: orNull(Time),
  endsAt: orNull({ ...Time, description: ENDS_AT }),
  lastUsedAt: orNull(Time),
};

interface ShownMembers {
  /** Members that only this surface has: of the grants, or the owner. */
  readonly members?: TProperties;
  /** The member that is the owner, where one is. */
  readonly owner?: string;
  /** All members of an answer to a mint besides id and raw key, and what a row shows after them; by default all. */
  readonly own?: TProperties;
  readonly ending?: TProperties;
  readonly rawKey?: string;
}

/** The view of a key: the schemas of its answers, which are the lists of the members that they show. */
export function keyView<Grants>({
  members,
  owner = 'ownerId',
  own = { label: Text, keyPrefix: Text, ...members, createdAt: Time, expiresAt: orNull(Time), replaces: orNull(Text) },
  ending = ENDING,
  rawKey = 'Shown only once.',
}: ShownMembers) {
  const minted = named('MintedKey', Type.Object({ id: Text, rawKey: Type.String({ description: rawKey }), ...own }));
  const row = named('Key', Type.Object({ id: Text, ...own, ...ending }));
  const shownIn = ({ properties }: TObject, key: ApiKeyRow<Grants>): object => {
    const all: Readonly<Record<string, unknown>> = { ...key.grants, ...key, [owner]: key.ownerId };
    return Object.fromEntries(Object.keys(properties).map((name) => [name, shownAs(all[name])]));
  };
  return {
    minted,
    mintedOf: (key: MintedApiKey<Grants>) => shownIn(minted, key),
    row,
    rowOf: (key: ApiKeyRow<Grants>) => shownIn(row, key),
  };
}

const shownAs = (value: unknown): unknown => (value instanceof Date ? value.toISOString() : (value ?? null));

/** The place of a key in a list. */
export const keyPosition = ({ createdAt, id }: ApiKeyRow<unknown>): KeyPosition => [createdAt.toISOString(), id];

/**
 * What the routes of the keys of a surface have in common: most fields of the four routes, and what their handlers do.
 * The surface adds summaries, access where it is not the admin listener's, and whose keys a request means.
 */
export function keyRoutes<const Path extends string, Grants, NewGrants, Sql, Context>(
  options: KeyRoutesOptions<Path, Grants, NewGrants, Sql, Context>,
) {
  const { path, params, view, store, audited, cursors, now, noKey = noSuchKey } = options;
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
      { expiresAt, ...key }: Omit<NewApiKey<NewGrants>, 'expiresAt'> & { readonly expiresAt?: string | undefined },
    ): Promise<Reply> {
      const order = { ...key, expiresAt: expiryOf(expiresAt, now()) };
      const minted = await audited(context, async (sql, record) => {
        const made = await store.mint(order, sql);
        const { ownerId, replaces, overlapSeconds = 0 } = key;
        await record('mint', { id: made.id, ownerId });
        if (replaces !== undefined)
          await record('rotate', { id: replaces, ownerId, detail: { replacedBy: made.id, overlapSeconds } });
        return made;
      });
      return { status: 201, body: view.mintedOf(minted), holdsSecret: true };
    },

    /** For `exportedList`: the keys of the owner that a parameter of this name means. */
    listing: <const Owner extends string>(owner: Owner) => {
      type Wanted = { readonly [Name in Owner]: string };
      const ofOwner = rowsOf<{ readonly ownerId: string }, ApiKeyRow<Grants>, KeyOrder>(
        () => store.listing,
        view.rowOf,
      );
      return {
        ...listing,
        name: 'key list',
        boundTo: [owner],
        search: true,
        sorts: { fields: KEY_ORDERS, default: '-createdAt' as const },
        ...ofOwner,
        count: (wanted: Wanted & ListOrder<KeyOrder>) => ofOwner.count({ ...wanted, ownerId: wanted[owner] }),
        rows: (wanted: Wanted & ListOrder<KeyOrder> & PageOf<ListPosition>) =>
          ofOwner.rows({ ...wanted, ownerId: wanted[owner] }),
        cursors,
      };
    },

    reading: { ...reading, summary: 'Read a key, without the raw key' },
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

const noSuchKey = (): AppError => new AppError('NOT_FOUND', 'There is no such key.');

function expiryOf(text: string | undefined, now: number): Date | undefined {
  const expiresAt = text === undefined ? undefined : instantOf(text);
  if (expiresAt === undefined || expiresAt.getTime() > now) return expiresAt;
  throw new AppError('INVALID_REQUEST', 'The key would never be valid.', {
    faults: [{ in: 'body', pointer: '/expiresAt', detail: 'expiresAt must be in the future.' }],
  });
}
