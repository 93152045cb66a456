import { jwksOf, type Jwks, type PublicJwk } from '@sealgate/envelope';
import { AppError } from '@sealgate/errors';
import { DatabaseUnavailableError, type Sql } from '@sealgate/storage';

export interface SigningKeysOptions {
  readonly sql: Sql;
  /** The keys of this process; the first one signs. */
  readonly current: readonly PublicJwk[];
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Anybody may ask, so the list is read again only after a while; no promise depends on how new a retired key is. */
const KEPT_MS = 60_000;

/**
 * The public keys to publish: those of this process, then every key that any process has ever published. A key whose
 * secret is long gone stays listed, so that old envelopes can still be checked.
 */
export function signingKeys({ sql, current, now }: SigningKeysOptions): () => Promise<Jwks> {
  let isListed = false;
  let known: { readonly keys: Jwks; readonly untilMs: number } | undefined;
  const list = async (): Promise<void> => {
    if (isListed) return;
    await sql.query({
      text: `INSERT INTO risk.signing_keys (kid, jwk, first_used_at)
             SELECT k.kid, k.jwk, $3 FROM unnest($1::text[], $2::text[]) k (kid, jwk) ON CONFLICT DO NOTHING`,
      values: [current.map(({ kid }) => kid), current.map((key) => JSON.stringify(key)), new Date(now())],
    });
    isListed = true;
  };
  return async () => {
    if (known !== undefined && now() < known.untilMs) return known.keys;
    try {
      await list();
      const rows = await sql.query<{ jwk: string }>({
        text: 'SELECT jwk FROM risk.signing_keys ORDER BY first_used_at DESC, kid LIMIT 1000',
      });
      // Written above, from such keys.
      const keys = jwksOf([...current, ...rows.map(({ jwk }) => JSON.parse(jwk) as PublicJwk)]);
      known = { keys, untilMs: now() + KEPT_MS };
      return keys;
    } catch (error) {
      if (!(error instanceof DatabaseUnavailableError)) throw error;
      if (known !== undefined) return known.keys;
      throw new AppError('UNAVAILABLE', 'The list of keys cannot be reached.', { cause: error });
    }
  };
}
