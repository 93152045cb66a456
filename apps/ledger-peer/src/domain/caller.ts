/** The caller: the holder of a configured key, or anyone if none is configured. */
export interface PeerCaller {
  /** Keys of one family share their jobs and Idempotency-Keys, so that both survive a key rotation. */
  readonly familyId: string;
  /** The rate limit bucket. */
  readonly bucket: string;
  /** Which limit applies: those of the log are many times higher. */
  readonly limit: 'calls' | 'log';
  /** The first digits of the hash of its key; absent without a key. */
  readonly keyDigits?: string;
  /** The name of the identity that signs for them; undefined on a ledger without identities, and if there is none. */
  readonly identity?: string | undefined;
}

/** The permission of routes that call the ledger as the caller. Only callers for whom an identity signs have it. */
export const CALLS_LEDGER = 'ledger:call';

type Claims = Readonly<Record<string, unknown>>;

/** Who signs for whom, on a ledger with identities. */
export interface Signers {
  /** The name of an identity; undefined: none signs for these callers. */
  ofKeyFamily(familyId: string): string | undefined;
  /** For a caller of the admin listener; undefined: one without an access token. */
  ofToken(token: { readonly issuer: string; readonly claims: Claims } | undefined): string | undefined;
  has(identity: string): boolean;
}

/** The family of callers without a key: they share their jobs and Idempotency-Keys. */
export const ANYBODY = 'anybody';
