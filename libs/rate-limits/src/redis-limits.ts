import type { Cluster, Redis } from 'ioredis';
import { CHARGE_SCRIPT, CHARGE_SCRIPT_SHA } from './charge-script.ts';
import { mayBeLeased } from './lease.ts';
import type { LeaseAsk, LeasePart } from './leases.ts';
import { Leases } from './leases.ts';
import type { Charge, LeasingStore, LimitState } from './limit-store.ts';
import { faultOfCharges } from './limit-store.ts';

export interface RedisLimitsOptions {
  /** Connected by the caller and stays the caller's. */
  readonly client: Redis | Cluster;
  /** Put before the name of every bucket: `sealgate:limits:`. */
  readonly prefix: string;
  /** How long a call may take before its charges are rejected. 100 unless said otherwise. */
  readonly timeoutMs?: number;
  /**
   * Milliseconds since the epoch, for tests. Unless given, the time of Redis, which all replicas share, and for leases a
   * clock of this process that never goes back.
   */
  readonly now?: () => number;
}

interface Waiting {
  readonly charges: readonly Charge[];
  readonly cost: number;
  /** What of the cost is leased, for each of the charges. */
  readonly parts: readonly LeasePart[] | undefined;
  readonly resolve: (state: LimitState) => void;
  readonly reject: (error: unknown) => void;
}

/** What one call to Redis carries at most; more of one tick go in several calls, in order. */
const MAX_BATCH = 256;
const ANSWER_WIDTH = 4;
const LEASE_WIDTH = 3;

/**
 * Limits shared through Redis 6 or later: one script call for all charges of a turn of the event loop, and for the leases
 * that are to be taken. A process that asks `takeLeased` before it charges has leases of the buckets it uses much.
 *
 * Every key has a TTL: a second more than its bucket takes to fill, and five more where it is leased. Everything that keeps Redis from answering within the
 * timeout (no connection, READONLY, OOM, a frozen process) rejects; nothing is retried here and nothing queues while the
 * connection is away. On Redis Cluster there is a call for each hash tag: the buckets of one request share that of its first,
 * so a bucket has to be charged with the same first bucket always.
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
  #isSending = false;

  constructor({ client, prefix, timeoutMs = 100, now }: RedisLimitsOptions) {
    this.#client = client;
    this.#prefix = prefix;
    this.#timeoutMs = timeoutMs;
    this.#now = now;
    this.#leases = new Leases({ now: now ?? (() => performance.now()), onDue: () => this.#sendSoon() });
  }

  takeLeased(charges: readonly Charge[], cost: number): LimitState | undefined {
    return this.#leases.take(charges, cost);
  }

  charge(charges: readonly Charge[], cost: number): Promise<LimitState> {
    const fault = faultOfCharges(charges, cost);
    if (fault !== undefined) return Promise.reject(fault);
    const parts = this.#leases.part(charges, cost);
    return new Promise((resolve, reject) => {
      this.#sendSoon();
      this.#waiting.push({ charges, cost, parts, resolve, reject });
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
    const asks = this.#leases.asks();
    if (!this.#client.isCluster) return this.#sendBatches(waiting, asks);
    const asksOf = Map.groupBy(asks, ({ first }) => tagOf(first));
    const waitingOf = Map.groupBy(waiting, ({ charges }) => tagOf(charges[0]!.bucket));
    for (const tag of new Set([...waitingOf.keys(), ...asksOf.keys()]))
      this.#sendBatches(waitingOf.get(tag) ?? [], asksOf.get(tag) ?? []);
  }

  #sendBatches(waiting: readonly Waiting[], asks: readonly LeaseAsk[]): void {
    if (waiting.length === 0 && asks.length === 0) return;
    const last = waiting.length - MAX_BATCH;
    if (last <= 0) return this.#send(waiting, asks);
    for (let from = 0; from < waiting.length; from += MAX_BATCH)
      this.#send(waiting.slice(from, from + MAX_BATCH), from < last ? [] : asks);
  }

  #send(batch: readonly Waiting[], asks: readonly LeaseAsk[]): void {
    const first = batch[0]?.charges[0]?.bucket ?? asks[0]!.first;
    const prefix = this.#client.isCluster ? `${this.#prefix}{${tagOf(first)}}` : this.#prefix;
    const { keys, chargesText, asksText } = encodeBatch(batch, asks, prefix);
    const nowText = this.#now === undefined ? '' : String(Math.round(this.#now() * 1000));
    let settled = false;
    const fail = (error: unknown): void => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      this.#leases.failed(asks);
      for (const { parts, reject } of batch) {
        if (parts !== undefined) this.#leases.settlePart(parts, false);
        reject(error);
      }
    };
    const timer = setTimeout(() => {
      // When it was this process that stood still, the answer is there already and the next turn of the loop reads it.
      setImmediate(() => fail(new Error(`Redis did not answer within ${this.#timeoutMs} ms.`)));
    }, this.#timeoutMs);
    this.#call([...keys, chargesText, nowText, asksText, this.#leases.holder], keys.length).then((answer) => {
      if (settled) return;
      const numbers = numbersOf(answer, batch.length * ANSWER_WIDTH + asks.length * LEASE_WIDTH);
      if (numbers === undefined) return fail(new Error('Redis answered a charge with something else.'));
      settled = true;
      clearTimeout(timer);
      this.#settle(batch, asks, numbers);
    }, fail);
  }

  #settle(batch: readonly Waiting[], asks: readonly LeaseAsk[], numbers: readonly number[]): void {
    this.#leases.answered();
    let place = 0;
    for (const { charges, parts, resolve } of batch) {
      const state = stateFrom(charges, numbers, place);
      if (parts !== undefined) this.#leases.settlePart(parts, state.admitted);
      resolve(state);
      place += ANSWER_WIDTH;
    }
    for (const ask of asks) {
      const [granted, sharedUsed, sharedLeased] = [numbers[place]!, numbers[place + 1]!, numbers[place + 2]!];
      this.#leases.granted(ask, { granted, sharedUsed, sharedLeased });
      place += LEASE_WIDTH;
    }
  }

  /** A script that Redis has forgotten (it restarted) is sent once with its text, which makes Redis remember it. */
  async #call(keysAndArguments: readonly string[], keyCount: number): Promise<unknown> {
    // Checked here because a client may be set to queue commands while it is away, and would send them much later.
    if (this.#client.status !== 'ready') throw new Error('Redis is not connected.');
    try {
      return await this.#client.evalsha(CHARGE_SCRIPT_SHA, keyCount, ...keysAndArguments);
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      return this.#client.eval(CHARGE_SCRIPT, keyCount, ...keysAndArguments);
    }
  }
}

/** What decides where on a cluster the buckets of a request lie. Nothing that ends a hash tag is left in it. */
const tagOf = (first: string): string => first.replaceAll('}', ')');

function encodeBatch(batch: readonly Waiting[], asks: readonly LeaseAsk[], prefix: string) {
  const positions = new Map<string, number>();
  const keys: string[] = [];
  const placeOf = (key: string): number => {
    const known = positions.get(key);
    if (known !== undefined) return known;
    const position = keys.push(prefix + key);
    positions.set(key, position);
    return position;
  };
  // No bucket is named so: names of ours have no space.
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
  const askTexts = asks.map((ask) => {
    const { ratePerSecond, burst } = ask.policy;
    return `[${placeOf(ask.bucket)},${leasesOf(ask)},${ratePerSecond},${burst},${ask.held},${ask.want}]`;
  });
  return { keys, chargesText: `[${chargeTexts.join(',')}]`, asksText: `[${askTexts.join(',')}]` };
}

function numbersOf(answer: unknown, count: number): readonly number[] | undefined {
  const numbers: unknown = typeof answer === 'string' ? parseQuietly(answer) : undefined;
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

function parseQuietly(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
