import { AppError } from '@sealgate/errors';
import type { Log } from '@sealgate/observability';
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import { isSafeUrl, type OidcIssuer } from './identity-config.ts';

interface IssuerKeysOptions {
  readonly issuer: OidcIssuer;
  readonly now: () => number;
  readonly log: Pick<Log, 'info' | 'warn'>;
  readonly fetch: typeof fetch;
}

const FETCH_WITHIN_MS = 2000;
const MAX_DOCUMENT_BYTES = 262_144;
const MAX_KEYS = 100;
/** Minimum interval of refetches for unknown keys. */
const REFETCH_AFTER_MS = 30_000;
/** Minimum interval of fetches while no keys are cached; callers wait for the fetch. */
const RETRY_AFTER_MS = 5000;
/** Keys in use are refetched after this time, so that a withdrawn key is not trusted for ever. */
const FRESH_FOR_MS = 600_000;

/**
 * In-memory cache of the public keys of one issuer (RFC 7517). While the provider is unavailable, cached keys stay in
 * use and no token with a known key is delayed.
 */
export class IssuerKeys {
  readonly #options: IssuerKeysOptions;
  #keyOf: JWTVerifyGetKey | undefined;
  #cachedAtMs = Number.NEGATIVE_INFINITY;
  #fetchedAtMs = Number.NEGATIVE_INFINITY;
  #fetching: Promise<void> | undefined;
  #loggedReason: string | undefined;

  constructor(options: IssuerKeysOptions) {
    this.#options = options;
  }

  prefetch(): void {
    void this.#fetch();
  }

  /**
   * Runs a check with the keys, and again after a refetch if it names an unknown key; undefined if there is no such
   * key.
   * @throws AppError UNAVAILABLE if no keys are cached.
   */
  async use<Result>(check: (keyOf: JWTVerifyGetKey) => Promise<Result | undefined>): Promise<Result | undefined> {
    if (this.#keyOf === undefined && this.#mayFetch(RETRY_AFTER_MS)) await this.#fetch();
    if (this.#keyOf === undefined)
      throw new AppError('UNAVAILABLE', 'The keys of the identity provider are unavailable.');
    if (this.#options.now() - this.#cachedAtMs > FRESH_FOR_MS && this.#mayFetch(REFETCH_AFTER_MS)) void this.#fetch();
    for (let isLast = false; ; isLast = true) {
      const keyOf: JWTVerifyGetKey = this.#keyOf;
      try {
        return await check(keyOf);
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
        if (!isLast && this.#mayFetch(REFETCH_AFTER_MS)) await this.#fetch();
        if (isLast || this.#keyOf === keyOf) return undefined;
      }
    }
  }

  /** Callers during a fetch wait for it. */
  #mayFetch(afterMs: number): boolean {
    return this.#fetching !== undefined || this.#options.now() - this.#fetchedAtMs >= afterMs;
  }

  /** Never rejects. */
  #fetch(): Promise<void> {
    if (this.#fetching !== undefined) return this.#fetching;
    const { issuer, now, log } = this.#options;
    this.#fetchedAtMs = now();
    this.#fetching = this.#fetchKeys().then(
      (set) => {
        this.#fetching = undefined;
        this.#keyOf = createLocalJWKSet(set);
        this.#cachedAtMs = now();
        if (this.#loggedReason !== undefined) log.info('oidc_keys_seen', { issuer: issuer.issuer });
        this.#loggedReason = undefined;
      },
      (error: unknown) => {
        this.#fetching = undefined;
        const reason = reasonOf(error);
        if (reason !== this.#loggedReason) log.warn('oidc_keys_unseen', { issuer: issuer.issuer, reason });
        this.#loggedReason = reason;
      },
    );
    return this.#fetching;
  }

  async #fetchKeys(): Promise<JSONWebKeySet> {
    const { issuer, jwksUri } = this.#options.issuer;
    const set = await this.#document(jwksUri ?? (await this.#discover(issuer)));
    const { keys } = set;
    if (!Array.isArray(keys) || keys.length > MAX_KEYS || !keys.every((key) => typeof key === 'object' && key !== null))
      throw new Error(`The keys are not a list of at most ${MAX_KEYS} objects.`);
    // A published symmetric key is not secret, so it must not verify anything.
    return { keys: keys.filter(({ kty }) => kty !== 'oct') };
  }

  async #discover(issuer: string): Promise<string> {
    const found = await this.#document(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
    if (found['issuer'] !== issuer) throw new Error('The configuration is for another issuer.');
    const uri = found['jwks_uri'];
    if (typeof uri !== 'string' || !isSafeUrl(uri)) throw new Error('jwks_uri is neither https nor on loopback.');
    return uri;
  }

  /** Fetches a JSON object with bounded size and time, without redirects. */
  async #document(url: string): Promise<Record<string, unknown>> {
    const signal = AbortSignal.timeout(FETCH_WITHIN_MS);
    const response = await this.#options.fetch(url, {
      redirect: 'error',
      signal,
      headers: { accept: 'application/json' },
    });
    if (response.status !== 200) {
      await response.body?.cancel();
      throw new Error(`The provider answered ${response.status}.`);
    }
    const parsed: unknown = JSON.parse(await textOf(response));
    if (typeof parsed !== 'object' || parsed === null) throw new Error('The response is not a JSON object.');
    return parsed as Record<string, unknown>;
  }
}

async function textOf(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > MAX_DOCUMENT_BYTES) throw new Error(`The response is larger than ${MAX_DOCUMENT_BYTES} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** `fetch failed` says nothing, but its cause does. The provider's response is not quoted. */
function reasonOf(error: unknown): string {
  if (error instanceof SyntaxError) return 'The response is not JSON.';
  if (!(error instanceof Error)) return 'unknown';
  return error.cause instanceof Error ? error.cause.message : error.message;
}
