import type { Cluster, Redis } from 'ioredis';
import { CHARGE_SCRIPT, CHARGE_SCRIPT_SHA } from './charge-script.ts';
import { Leases, mayBeLeased, type LeasePart, type LeaseRequest } from './leases.ts';
import { faultOfCharges, type Charge, type LeasingStore, type LimitState } from './limits.ts';

interface RedisLimitsOptions {
  /** Connected and closed by the caller. */
  readonly client: Redis | Cluster;
  /** Key prefix of every bucket: `sealgate:limits:`. */
  readonly prefix: string;
  /** Timeout of a call, after which its charges are rejected. Default: 100. */
  readonly timeoutMs?: number;
  /**
   * Milliseconds since the epoch, for tests. Default: the time of Redis, which all replicas share, and for leases a
   * monotonic clock of this process.
   */
  readonly now?: () => number;
}

interface Waiting {
  /** Hash tag on a cluster; else unused. */
  readonly tag: string;
  readonly charges: readonly Charge[];
  readonly cost: number;
  /** The leased part of the cost, per charge. */
  readonly parts: readonly LeasePart[] | undefined;
  readonly resolve: (state: LimitState) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * A probe is a real charge: it proves that the script runs and that Redis can write. PING is also answered by a replica
 * and by a Redis out of memory, which refuse every charge.
 */
const PROBE: readonly Charge[] = [
  { bucket: 'probe', policy: { name: 'key', ratePerSecond: 1_000_000, burst: 1_000_000 } },
];
/** Maximum hash tags of failed charges that a probe charges again. */
const MAX_FAILED_TAGS = 16;

/** Maximum charges per call; more in one tick are sent in several calls, in order. */
const MAX_BATCH = 256;
const ANSWER_WIDTH = 4;
const LEASE_WIDTH = 3;

/**
 * Limits shared through Redis 6 or later: one script call for all charges and lease requests of a turn of the event
 * loop. `takeLeased`, called before `charge`, keeps leases of the busy buckets.
 *
 * Every key has a TTL: a second more than its bucket takes to fill, and five more if it is leased. Whatever keeps Redis
 * from answering within the timeout (no connection, READONLY, OOM, a frozen process) rejects; there is no retry, and
 * nothing is queued while the connection is away. On Redis Cluster there is a call per hash tag: the buckets of one
 * request share that of its first, so a bucket must always be charged with the same first bucket.
 */
export function redisLimits(options: RedisLimitsOptions): LeasingStore {
  return new RedisLimits(options);
}

class RedisLimits implements LeasingStore {
  readonly #client: Redis | Cluster;
  readonly #prefix: string;
  readonly #timeoutMs: number;
  readonly #now: (() => number) | undefined;
  readonly #leases: Leases;
  #waiting: Waiting[] = [];
  /** On a cluster: hash tags of charges that failed since the last successful probe. */
  readonly #failedTags = new Set<string>();
  #isSending = false;

  constructor({ client, prefix, timeoutMs = 100, now }: RedisLimitsOptions) {
    this.#client = client;
    this.#prefix = prefix;
    this.#timeoutMs = timeoutMs;
    this.#now = now;
    this.#leases = new Leases(now ?? (() => performance.now()), () => this.#sendSoon());
  }

  takeLeased(charges: readonly Charge[], cost: number): LimitState | undefined {
    return this.#leases.take(charges, cost);
  }

  charge(charges: readonly Charge[], cost: number): Promise<LimitState> {
    const fault = faultOfCharges(charges, cost);
    if (fault !== undefined) return Promise.reject(fault);
    return this.#enqueue(this.#client.isCluster ? tagOf(charges[0]!.bucket) : '', charges, cost);
  }

  async probe(): Promise<void> {
    const tags = new Set([tagOf(PROBE[0]!.bucket), ...this.#failedTags]);
    await Promise.all([...tags].map((tag) => this.#enqueue(tag, PROBE, 1)));
    this.#failedTags.clear();
  }

  #enqueue(tag: string, charges: readonly Charge[], cost: number): Promise<LimitState> {
    const parts = this.#leases.part(charges, cost);
    return new Promise((resolve, reject) => {
      this.#sendSoon();
      this.#waiting.push({ tag, charges, cost, parts, resolve, reject });
    });
  }

  #sendSoon(): void {
    if (this.#isSending) return;
    this.#isSending = true;
    setImmediate(() => this.#sendAll());
  }

  #sendAll(): void {
    this.#isSending = false;
    const waiting = this.#waiting;
    this.#waiting = [];
    const leaseRequests = this.#leases.leaseRequests();
    if (!this.#client.isCluster) return this.#sendBatches(waiting, leaseRequests);
    const leaseRequestsOf = Map.groupBy(leaseRequests, ({ first }) => tagOf(first));
    const waitingOf = Map.groupBy(waiting, ({ tag }) => tag);
    for (const tag of new Set([...waitingOf.keys(), ...leaseRequestsOf.keys()]))
      this.#sendBatches(waitingOf.get(tag) ?? [], leaseRequestsOf.get(tag) ?? [], tag);
  }

  /** With the hash tag of all of them on a cluster. */
  #sendBatches(waiting: readonly Waiting[], leaseRequests: readonly LeaseRequest[], tag?: string): void {
    if (waiting.length === 0 && leaseRequests.length === 0) return;
    const last = waiting.length - MAX_BATCH;
    if (last <= 0) return this.#send(waiting, leaseRequests, tag);
    for (let from = 0; from < waiting.length; from += MAX_BATCH)
      this.#send(waiting.slice(from, from + MAX_BATCH), from < last ? [] : leaseRequests, tag);
  }

  #send(batch: readonly Waiting[], leaseRequests: readonly LeaseRequest[], tag: string | undefined): void {
    const prefix = tag === undefined ? this.#prefix : `${this.#prefix}{${tag}}`;
    const { keys, chargesText, leasesText } = encodeBatch(batch, leaseRequests, prefix);
    const nowText = this.#now === undefined ? '' : String(Math.round(this.#now() * 1000));
    let settled = false;
    const fail = (error: unknown): void => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      if (tag !== undefined && this.#failedTags.size < MAX_FAILED_TAGS) this.#failedTags.add(tag);
      this.#leases.failed(leaseRequests);
      for (const { parts, reject } of batch) {
        if (parts !== undefined) this.#leases.settlePart(parts, false);
        reject(error);
      }
    };
    const timer = setTimeout(() => {
      // If this process was blocked, the answer has arrived already and is read before the immediate.
      setImmediate(() => fail(new Error(`Redis did not answer within ${this.#timeoutMs} ms.`)));
    }, this.#timeoutMs);
    this.#call([...keys, chargesText, nowText, leasesText, this.#leases.holder], keys.length).then((answer) => {
      if (settled) return;
      const numbers = numbersOf(answer, batch.length * ANSWER_WIDTH + leaseRequests.length * LEASE_WIDTH);
      if (numbers === undefined) return fail(new Error('Redis returned a malformed answer to a charge.'));
      settled = true;
      clearTimeout(timer);
      this.#settle(batch, leaseRequests, numbers);
    }, fail);
  }

  #settle(batch: readonly Waiting[], leaseRequests: readonly LeaseRequest[], numbers: readonly number[]): void {
    this.#leases.answered();
    let place = 0;
    for (const { charges, parts, resolve } of batch) {
      const state = stateFrom(charges, numbers, place);
      if (parts !== undefined) this.#leases.settlePart(parts, state.admitted);
      resolve(state);
      place += ANSWER_WIDTH;
    }
    for (const leaseRequest of leaseRequests) {
      this.#leases.granted(leaseRequest, numbers[place]!, numbers[place + 1]!, numbers[place + 2]!);
      place += LEASE_WIDTH;
    }
  }

  /** After NOSCRIPT (Redis was restarted) the script is sent once by EVAL, which caches it again. */
  async #call(keysAndArguments: readonly string[], keyCount: number): Promise<unknown> {
    // A client with an offline queue would send the command much later.
    if (this.#client.status !== 'ready') throw new Error('Redis is not connected.');
    try {
      return await this.#client.evalsha(CHARGE_SCRIPT_SHA, keyCount, ...keysAndArguments);
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      return this.#client.eval(CHARGE_SCRIPT, keyCount, ...keysAndArguments);
    }
  }
}

/** Hash tag of a request's buckets on a cluster, without the character that ends one. */
const tagOf = (first: string): string => first.replaceAll('}', ')');

function encodeBatch(batch: readonly Waiting[], leaseRequests: readonly LeaseRequest[], prefix: string) {
  const positions = new Map<string, number>();
  const keys: string[] = [];
  const placeOf = (key: string): number => {
    const known = positions.get(key);
    if (known !== undefined) return known;
    const position = keys.push(prefix + key);
    positions.set(key, position);
    return position;
  };
  // Distinct from every bucket: bucket names have no space.
  const leasesOf = ({ bucket, policy }: Charge): number => (mayBeLeased(policy) ? placeOf(`${bucket} leases`) : 0);
  const chargeTexts = batch.map(({ charges, cost, parts }) => {
    let text = '';
    for (const [index, charge] of charges.entries()) {
      const rest = parts === undefined ? cost : cost - parts[index]!.tokens;
      const { ratePerSecond, burst } = charge.policy;
      text += `${text === '' ? '' : ','}${placeOf(charge.bucket)},${leasesOf(charge)},${rest},${ratePerSecond},${burst}`;
    }
    return `[${text}]`;
  });
  const leaseTexts = leaseRequests.map((request) => {
    const { ratePerSecond, burst } = request.policy;
    return `[${placeOf(request.bucket)},${leasesOf(request)},${ratePerSecond},${burst},${request.held},${request.want}]`;
  });
  return { keys, chargesText: `[${chargeTexts.join(',')}]`, leasesText: `[${leaseTexts.join(',')}]` };
}

function numbersOf(answer: unknown, count: number): readonly number[] | undefined {
  const numbers: unknown = typeof answer === 'string' ? parseOrUndefined(answer) : undefined;
  const isOurs =
    Array.isArray(numbers) && numbers.length === count && numbers.every((number) => typeof number === 'number');
  return isOurs ? numbers : undefined;
}

function stateFrom(charges: readonly Charge[], numbers: readonly number[], start: number): LimitState {
  const admitted = numbers[start] === 1;
  const { policy } = charges[numbers[start + 1]!] ?? charges[0]!;
  const seconds = numbers[start + 3]!;
  const remaining = numbers[start + 2]!;
  return { admitted, policy, remaining, resetSeconds: seconds, retryAfterSeconds: admitted ? 0 : seconds };
}

function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
