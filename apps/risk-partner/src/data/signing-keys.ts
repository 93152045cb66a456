import type { KeyedHasher } from '@sealgate/auth';
import { jwksOf, type Jwks, type PublicJwk } from '@sealgate/envelope';
import { AppError } from '@sealgate/errors';
import { DatabaseUnavailableError, type Sql } from '@sealgate/storage';

interface SigningKeysOptions {
  readonly sql: Sql;
  /** The keys of this process; the first one signs. */
  readonly current: readonly PublicJwk[];
  /** Derived for the purpose `risk published keys`. */
  readonly macs: KeyedHasher;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Called with the number of rows that were not published, when it changes. */
  readonly onRefused: (count: number) => void;
}

interface KeyRow {
  kid: string;
  jwk: string;
  macs: string | null;
}

/** The list is public, so it is cached; retired keys do not change often enough to matter. */
const CACHE_MS = 60_000;
/** Maximum number of kept MACs made with secrets unknown to this process. */
const MAX_OTHER_MACS = 16;
/** Secret id, colon, 32 bytes in base64url. */
const MAC = /^[\w-]{1,32}:[\w-]{43}$/;

/**
 * The public keys to publish: those of this process, then every key that any process has published. A key stays listed
 * after its secret is gone, so that old envelopes can be verified.
 *
 * A row counts only with a MAC by a server secret of this process, so write access to the database alone cannot add a
 * key. Each process adds MACs of all its secrets to each valid row, so a row survives a secret rotation if one process
 * had both secrets for a minute.
 */
export function signingKeys(options: SigningKeysOptions): () => Promise<Jwks> {
  const { now, onRefused } = options;
  let known: { readonly keys: Jwks; readonly untilMs: number } | undefined;
  let refused = 0;
  return async () => {
    if (known !== undefined && now() < known.untilMs) return known.keys;
    try {
      const { keys, refused: count } = await readKeys(options);
      if (count !== refused) onRefused((refused = count));
      known = { keys, untilMs: now() + CACHE_MS };
      return keys;
    } catch (error) {
      if (!(error instanceof DatabaseUnavailableError)) throw error;
      if (known !== undefined) return known.keys;
      throw new AppError('UNAVAILABLE', 'The list of keys is unavailable.', { cause: error });
    }
  };
}

async function readKeys({ sql, current, macs, now }: SigningKeysOptions): Promise<{ keys: Jwks; refused: number }> {
  const rows = await sql.query<KeyRow>({
    text: 'SELECT kid, jwk, macs FROM risk.signing_keys ORDER BY first_used_at DESC, kid LIMIT 1000',
  });
  const own = current.map((key) => ({ kid: key.kid, jwk: JSON.stringify(key) }));
  const others = rows.filter((row) => !own.some(({ kid }) => kid === row.kid) && isOurs(row, macs));
  const stored = new Map(rows.map((row) => [row.kid, row]));
  const wanted = [...own, ...others].map(({ kid, jwk }) => ({
    kid,
    jwk,
    macs: macsOf(kid, jwk, stored.get(kid), macs),
  }));
  const changed = wanted.filter(({ kid, jwk, macs: made }) => {
    const row = stored.get(kid);
    return row?.jwk !== jwk || row.macs !== made;
  });
  if (changed.length > 0)
    await sql.query({
      text: `INSERT INTO risk.signing_keys (kid, jwk, macs, first_used_at)
             SELECT k.kid, k.jwk, k.macs, $4 FROM unnest($1::text[], $2::text[], $3::text[]) k (kid, jwk, macs)
             ON CONFLICT (kid) DO UPDATE SET jwk = excluded.jwk, macs = excluded.macs`,
      values: [
        changed.map(({ kid }) => kid),
        changed.map(({ jwk }) => jwk),
        changed.map(({ macs: made }) => made),
        new Date(now()),
      ],
    });
  // Valid rows were written by the statement above, in a process with one of these secrets.
  const keys = jwksOf([...current, ...others.map(({ jwk }) => JSON.parse(jwk) as PublicJwk)]);
  return { keys, refused: rows.filter(({ kid }) => !wanted.some((one) => one.kid === kid)).length };
}

const macTexts = ({ macs }: KeyRow): string[] => macs?.split(' ').filter((text) => MAC.test(text)) ?? [];

function isOurs(row: KeyRow, hasher: KeyedHasher): boolean {
  return macTexts(row).some((text) => {
    const [id = '', digest = ''] = text.split(':');
    return hasher.verify({ id, digest: Buffer.from(digest, 'base64url') }, row.kid, row.jwk);
  });
}

/** The MACs of this process ordered by secret id, then those of other processes over the same key. */
function macsOf(kid: string, jwk: string, row: KeyRow | undefined, hasher: KeyedHasher): string {
  const made = hasher.hashAll(kid, jwk).sort((a, b) => (a.id < b.id ? -1 : 1));
  const others =
    row?.jwk === jwk ? macTexts(row).filter((text) => !made.some(({ id }) => text.startsWith(`${id}:`))) : [];
  return [
    ...made.map(({ id, digest }) => `${id}:${digest.toString('base64url')}`),
    ...others.slice(0, MAX_OTHER_MACS),
  ].join(' ');
}
