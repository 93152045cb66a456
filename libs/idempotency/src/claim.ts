import assert from 'node:assert/strict';
import { AppError } from '@sealgate/errors';
import { framed, type KeyedHash, type KeyedHasher } from '@sealgate/auth';
import { sha256 } from '@sealgate/json';

const KEY = /^[\x21-\x7e]{1,255}$/;
/** A string of RFC 9651, section 3.3.3, without parameters or further list members. */
const QUOTED = /^"((?:[^"\\]|\\["\\])*)"$/;

/**
 * Parses the Idempotency-Key header from all its occurrences: a bare key, or a structured-field string, which is
 * unquoted and unescaped. A value that begins with a quote must be such a string: if a string with parameters were a
 * key of its own, the same request in two spellings would be written twice. Undefined if the header is absent.
 * @throws AppError INVALID_IDEMPOTENCY_KEY if it was sent twice, is empty, is longer than 255 characters, contains
 * anything but visible ASCII, or begins with a quote and is not one quoted string.
 */
export function parseIdempotencyKey(headerValues: readonly string[]): string | undefined {
  const [value] = headerValues;
  if (value === undefined) return undefined;
  if (headerValues.length > 1) throw invalid('Idempotency-Key was sent more than once.');
  const key = value.startsWith('"') ? unquoted(value) : value;
  if (!KEY.test(key)) throw invalid('Idempotency-Key is 1 to 255 visible ASCII characters, bare or in quotes.');
  return key;
}

function unquoted(value: string): string {
  const text = QUOTED.exec(value)?.[1];
  if (text === undefined) throw invalid('A quoted Idempotency-Key is one string in quotes, without parameters.');
  return text.includes('\\') ? text.replaceAll(/\\(.)/g, '$1') : text;
}

function invalid(detail: string): AppError {
  return new AppError('INVALID_IDEMPOTENCY_KEY', detail, {
    faults: [{ in: 'header', pointer: '/Idempotency-Key', detail }],
  });
}

/** The stored identity of a request, in the same transaction as its effect, so that it takes effect once. */
export interface Claim {
  /** 32 bytes that identify scope and key, independent of the secrets, so that a UNIQUE index can enforce them. */
  readonly claim: Buffer;
  /** `<secretId>:<base64url>`, made with the current secret; stored with the claim. Reveals nothing about the body. */
  readonly fingerprint: string;
  /** All fingerprints under which the same request may be stored, one per secret; the first is `fingerprint`. */
  readonly acceptable: readonly string[];
}

/** Requests share a claim if scope and key are equal, and a fingerprint if method, path and body are equal, too. */
export function claimOf({
  hasher,
  scope,
  key,
  method,
  path,
  body,
}: {
  /** Derived for the fingerprints of this surface only. */
  readonly hasher: KeyedHasher;
  /** The scope in which the key is unique, for instance network and key family. Scopes never share a claim. */
  readonly scope: readonly string[];
  readonly key: string;
  readonly method: string;
  /** Path of the request, without the query. */
  readonly path: string;
  /** The canonical body or the raw inflated bytes, as documented by the surface. */
  readonly body: Uint8Array;
}): Claim {
  const hashes = hasher.hashAll(method, path, body);
  const acceptable = hashes.map(fingerprintText);
  const [fingerprint] = acceptable;
  assert(fingerprint !== undefined, 'A hasher has at least one key.');
  return { claim: sha256(framed([...scope, key])), fingerprint, acceptable };
}

function fingerprintText({ id, digest }: KeyedHash): string {
  return `${id}:${digest.toString('base64url')}`;
}

/** Runs the callback once after a delay, unless the returned function is called first. */
export type StartTimer = (callback: () => void, delayMs: number) => () => void;

interface Running<T> {
  readonly fingerprint: string;
  /**
   * Never rejects: undefined if the work failed. Cleared at the end: V8 links each table of a Map to its replacement,
   * so once a table is old, everything later ones held is retained until the next full collection.
   */
  settled: Promise<{ readonly value: T } | undefined> | undefined;
}

const WAIT_MS = 250;
const startPlatformTimer: StartTimer = (callback, delayMs) => {
  const timer = setTimeout(callback, delayMs);
  return () => clearTimeout(timer);
};

/**
 * Requests of this process that hold a claim while they run, so that another one with the same claim waits here instead
 * of at the lock of its row. Only the row of the claim makes an effect happen once and decides whether a key was used
 * with another request; a running request may itself be refused. Holds one entry per running work and one timer per
 * waiting request, so running requests bound it.
 */
export class InFlight<T> {
  readonly #running = new Map<string, Running<T>>();
  readonly #waitMs: number;
  readonly #startTimer: StartTimer;

  constructor({
    waitMs = WAIT_MS,
    startTimer = startPlatformTimer,
  }: {
    /** How long a request waits for a running one. */
    readonly waitMs?: number;
    readonly startTimer?: StartTimer;
  } = {}) {
    this.#waitMs = waitMs;
    this.#startTimer = startTimer;
  }

  /**
   * Runs the work once nothing else runs under the claim, or joins the same request if that is running. Failures are
   * not shared: a waiting request runs its own work, because the first may have failed for its own reasons, such as a
   * client that left. Neither is the value of a request with another fingerprint: the work then reads the row.
   * @throws AppError IDEMPOTENCY_IN_PROGRESS if something still runs under the claim after `waitMs`; and whatever the
   * work throws.
   */
  async run(
    claim: string,
    fingerprint: string,
    work: () => Promise<T>,
  ): Promise<{ readonly value: T; readonly joined: boolean }> {
    const first = this.#running.get(claim);
    if (first === undefined) return { value: await this.#lead(claim, fingerprint, work), joined: false };
    return this.#follow(claim, fingerprint, work);
  }

  /** Number of running works, for a gauge. */
  get size(): number {
    return this.#running.size;
  }

  #lead(claim: string, fingerprint: string, work: () => Promise<T>): Promise<T> {
    const working = work();
    const running: Running<T> = { fingerprint, settled: undefined };
    const end = () => {
      this.#running.delete(claim);
      running.settled = undefined;
    };
    running.settled = working.then(
      (value) => {
        end();
        return { value };
      },
      () => {
        end();
        return undefined;
      },
    );
    this.#running.set(claim, running);
    return working;
  }

  async #follow(
    claim: string,
    fingerprint: string,
    work: () => Promise<T>,
  ): Promise<{ readonly value: T; readonly joined: boolean }> {
    let stopTimer = () => {};
    const tooLate = new Promise<'too late'>((resolve) => {
      stopTimer = this.#startTimer(() => resolve('too late'), this.#waitMs);
    });
    try {
      for (let first = this.#running.get(claim); first !== undefined; first = this.#running.get(claim)) {
        const outcome = await Promise.race([first.settled, tooLate]);
        if (outcome === 'too late') throw inProgress();
        const isSame = first.fingerprint === fingerprint;
        if (isSame && outcome !== undefined) return { value: outcome.value, joined: true };
      }
    } finally {
      stopTimer();
    }
    return { value: await this.#lead(claim, fingerprint, work), joined: false };
  }
}

function inProgress(): AppError {
  return new AppError('IDEMPOTENCY_IN_PROGRESS', 'Another request with this key is still running.', {
    retryAfterSeconds: 1,
  });
}
