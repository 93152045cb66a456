import { AppError } from '@sealgate/errors';
import type { Log } from '@sealgate/observability';
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import { isSafeUrl, type OidcIssuer } from './identity-config.ts';

export interface IssuerKeysOptions {
  readonly issuer: OidcIssuer;
  readonly now: () => number;
  readonly log: Pick<Log, 'info' | 'warn'>;
  readonly fetch: typeof fetch;
}

const FETCH_WITHIN_MS = 2000;
const MAX_DOCUMENT_BYTES = 262_144;
const MAX_KEYS = 100;
/** How soon a key that is not known makes the keys be fetched again. */
const REFETCH_AFTER_MS = 30_000;
/** The same while none has been seen: whoever asks waits for it. */
const RETRY_AFTER_MS = 5000;
/** Keys are fetched again after this time while they are used, so that one that was withdrawn is not believed for ever. */
const FRESH_FOR_MS = 600_000;

/**
 * The public keys of one issuer (RFC 7517), kept in memory. A provider that is away delays no token whose key is known:
 * the keys that were seen last stay until others come.
 */
export class IssuerKeys {
  readonly #options: IssuerKeysOptions;
  #keyOf: JWTVerifyGetKey | undefined;
  #seenAtMs = Number.NEGATIVE_INFINITY;
  #askedAtMs = Number.NEGATIVE_INFINITY;
  #asking: Promise<void> | undefined;
  #toldReason: string | undefined;

  constructor(options: IssuerKeysOptions) {
    this.#options = options;
  }

  prefetch(): void {
    void this.#ask();
  }

  /**
   * Runs a check with the keys, and again where it names a key that came meanwhile; undefined where there is no such key.
   * @throws AppError UNAVAILABLE where no key has been seen yet.
   */
  async use<Result>(check: (keyOf: JWTVerifyGetKey) => Promise<Result | undefined>): Promise<Result | undefined> {
    if (this.#keyOf === undefined && this.#mayAsk(RETRY_AFTER_MS)) await this.#ask();
    if (this.#keyOf === undefined)
      throw new AppError('UNAVAILABLE', 'The keys of the identity provider cannot be reached.');
    if (this.#options.now() - this.#seenAtMs > FRESH_FOR_MS && this.#mayAsk(REFETCH_AFTER_MS)) void this.#ask();
    for (let isLast = false; ; isLast = true) {
      const keyOf: JWTVerifyGetKey = this.#keyOf;
      try {
        return await check(keyOf);
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
        if (!isLast && this.#mayAsk(REFETCH_AFTER_MS)) await this.#ask();
        if (isLast || this.#keyOf === keyOf) return undefined;
      }
    }
  }

  /** Whoever comes while they are being fetched waits for that. */
  #mayAsk(afterMs: number): boolean {
    return this.#asking !== undefined || this.#options.now() - this.#askedAtMs >= afterMs;
  }

  /** Never rejects. */
  #ask(): Promise<void> {
    if (this.#asking !== undefined) return this.#asking;
    const { issuer, now, log } = this.#options;
    this.#askedAtMs = now();
    this.#asking = this.#fetchKeys().then(
      (set) => {
        this.#asking = undefined;
        this.#keyOf = createLocalJWKSet(set);
        this.#seenAtMs = now();
        if (this.#toldReason !== undefined) log.info('oidc_keys_seen', { issuer: issuer.issuer });
        this.#toldReason = undefined;
      },
      (error: unknown) => {
        this.#asking = undefined;
        const reason = reasonOf(error);
        if (reason !== this.#toldReason) log.warn('oidc_keys_unseen', { issuer: issuer.issuer, reason });
        this.#toldReason = reason;
      },
    );
    return this.#asking;
  }

  async #fetchKeys(): Promise<JSONWebKeySet> {
    const { issuer, jwksUri } = this.#options.issuer;
    const set = await this.#document(jwksUri ?? (await this.#discover(issuer)));
    const { keys } = set;
    if (!Array.isArray(keys) || keys.length > MAX_KEYS || !keys.every((key) => typeof key === 'object' && key !== null))
      throw new Error(`The keys are no list of at most ${MAX_KEYS} objects.`);
    // A symmetric key in a public document is no secret, so nothing may be checked with it.
    return { keys: keys.filter(({ kty }) => kty !== 'oct') };
  }

  async #discover(issuer: string): Promise<string> {
    const found = await this.#document(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
    if (found['issuer'] !== issuer) throw new Error('The configuration is of another issuer.');
    const uri = found['jwks_uri'];
    if (typeof uri !== 'string' || !isSafeUrl(uri)) throw new Error('jwks_uri is not https, nor on loopback.');
    return uri;
  }

  /** A JSON object of bounded size, from exactly this address, in bounded time. */
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
    if (typeof parsed !== 'object' || parsed === null) throw new Error('The answer is no JSON object.');
    return parsed as Record<string, unknown>;
  }
}

async function textOf(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > MAX_DOCUMENT_BYTES) throw new Error(`The answer is larger than ${MAX_DOCUMENT_BYTES} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** `fetch failed` says nothing; its cause does. What the provider sent is not repeated. */
function reasonOf(error: unknown): string {
  if (error instanceof SyntaxError) return 'The answer is not JSON.';
  if (!(error instanceof Error)) return 'unknown';
  return error.cause instanceof Error ? error.cause.message : error.message;
}
