import type { KeyedHasher } from '@sealgate/auth';
import { jwksOf, type Jwks, type PublicJwk } from '@sealgate/envelope';
import { AppError } from '@sealgate/errors';
import { DatabaseUnavailableError, type Sql } from '@sealgate/storage';

export interface SigningKeysOptions {
  readonly sql: Sql;
  /** The keys of this process; the first one signs. */
  readonly current: readonly PublicJwk[];
  /** Of the purpose `risk published keys`. */
  readonly macs: KeyedHasher;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Told how many rows were not published, when that number changes. */
  readonly onRefused: (count: number) => void;
}

interface KeyRow {
  kid: string;
  jwk: string;
  macs: string | null;
}

/** Anybody may ask, so the list is read again only after a while; no promise depends on how new a retired key is. */
const KEPT_MS = 60_000;
/** Of secrets that this process does not know, so many MACs are kept for those that do. */
const MOST_OTHER_MACS = 16;
/** The id of a secret, and 32 bytes. */
const MAC = /^[\w-]{1,32}:[\w-]{43}$/;

/**
 * The public keys to publish: those of this process, then every key that any process has ever published. A key whose
 * secret is long gone stays listed, so that old envelopes can still be checked.
 *
 * Whoever has the database alone can add none: a row counts only with a MAC by a server secret of this process. A process
 * adds the MACs of all its secrets to each row that counts, so a row outlives an exchange of secrets in which some process
 * had the old one and the new one together for a minute.
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
      known = { keys, untilMs: now() + KEPT_MS };
      return keys;
    } catch (error) {
      if (!(error instanceof DatabaseUnavailableError)) throw error;
      if (known !== undefined) return known.keys;
      throw new AppError('UNAVAILABLE', 'The list of keys cannot be reached.', { cause: error });
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
  // Written above by a process that has a secret of this one, from such keys.
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

/** The MACs of this process in the order of their ids, then those that others made of the same. */
function macsOf(kid: string, jwk: string, row: KeyRow | undefined, hasher: KeyedHasher): string {
  const made = hasher.hashAll(kid, jwk).sort((a, b) => (a.id < b.id ? -1 : 1));
  const others =
    row?.jwk === jwk ? macTexts(row).filter((text) => !made.some(({ id }) => text.startsWith(`${id}:`))) : [];
  return [
    ...made.map(({ id, digest }) => `${id}:${digest.toString('base64url')}`),
    ...others.slice(0, MOST_OTHER_MACS),
  ].join(' ');
}
