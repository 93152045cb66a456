/** A key as its owner may see it. `Grants` is the surface's own type of what a key may do. */
export interface ApiKeyRow<Grants> {
  readonly id: string;
  readonly ownerId: string;
  /** Shared by a key and all its replacements. */
  readonly familyId: string;
  readonly label: string;
  /** The first 12 characters of the raw key. */
  readonly keyPrefix: string;
  readonly grants: Grants;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  /** The earliest of expiry, end of overlap and revocation; from then on it is not live. Null: none is known. */
  readonly endsAt: Date | null;
  readonly lastUsedAt: Date | null;
  /** The id of the key that this one replaced. */
  readonly replaces: string | null;
}

/** A new key. `rawKey` exists only here: it goes into one response and into no log. */
export type MintedApiKey<Grants> = ApiKeyRow<Grants> & { readonly rawKey: string };

export interface NewApiKey<Grants> {
  readonly ownerId: string;
  readonly label: string;
  readonly grants: Grants;
  readonly expiresAt?: Date | undefined;
  /** The id of a live key of the same owner, which ends when `overlapSeconds` have passed. */
  readonly replaces?: string | undefined;
  /** 0 (the default) to 604800. Ignored without `replaces`. */
  readonly overlapSeconds?: number | undefined;
}

/** The place of a key in a list, as a cursor holds it. */
export type KeyPosition = [createdAt: string, id: string];

/**
 * The keys of one surface, as its routes use them. A change happens in the caller's transaction `sql`, so that its audit
 * event or a check of the owner is atomic with it. Nothing is cached.
 */
export interface KeyStore<Grants, Sql, NewGrants = Grants> {
  /**
   * @throws AppError NOT_FOUND if `replaces` is not a live key of this owner, ALREADY_EXISTS if it was replaced before,
   *   LIMIT_REACHED if the owner would have more than 200 live keys.
   */
  mint(key: NewApiKey<NewGrants>, sql: Sql): Promise<MintedApiKey<Grants>>;
  /** Live keys and those that ended in the last 30 days, newest first, after the last key of the previous page. */
  list(
    ownerId: string,
    page: { readonly limit: number; readonly after?: KeyPosition | undefined },
  ): Promise<ApiKeyRow<Grants>[]>;
  /** In any state. */
  get(ownerId: string, id: string): Promise<ApiKeyRow<Grants> | undefined>;
  /** Ends only this key, at once and on every replica; the key it replaced and its replacement stay live. */
  revoke(ownerId: string, id: string, sql: Sql): Promise<'revoked' | 'already' | 'missing'>;
}
