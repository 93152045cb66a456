import type { Cluster, Redis } from 'ioredis';
import { CHARGE_SCRIPT, CHARGE_SCRIPT_SHA } from './charge-script.ts';
import type { Charge, LimitState, LimitStore } from './limit-store.ts';
import { faultOfCharges } from './limit-store.ts';

export interface RedisLimitsOptions {
  /** Connected by the caller and stays the caller's. */
  readonly client: Redis | Cluster;
  /** Put before the name of every bucket: `sealgate:limits:`. */
  readonly prefix: string;
  /** How long a call may take before its charges are rejected. 100 unless said otherwise. */
  readonly timeoutMs?: number;
  /** Milliseconds since the epoch, for tests. The time of Redis, which all replicas share, unless given. */
  readonly now?: () => number;
}

interface Waiting {
  readonly charges: readonly Charge[];
  readonly cost: number;
  readonly resolve: (state: LimitState) => void;
  readonly reject: (error: unknown) => void;
}

/** What one call to Redis carries at most; more of one tick go in several calls, in order. */
const MAX_BATCH = 256;
const ANSWER_WIDTH = 4;

/**
 * Limits shared through Redis 6 or later: one script call for all charges of a turn of the event loop.
 *
 * Every key has a TTL: a second more than its bucket takes to fill. Everything that keeps Redis from answering within the
 * timeout (no connection, READONLY, OOM, a frozen process) rejects; nothing is retried here and nothing queues while the
 * connection is away. On Redis Cluster there is a call for each hash tag: the buckets of one request share that of its first,
 * so a bucket has to be charged with the same first bucket always.
 */
export function redisLimits(options: RedisLimitsOptions): LimitStore {
  return new RedisLimits(options);
}

class RedisLimits implements LimitStore {
  readonly #client: Redis | Cluster;
  readonly #prefix: string;
  readonly #timeoutMs: number;
  readonly #now: (() => number) | undefined;
  #waiting: Waiting[] = [];

  constructor({ client, prefix, timeoutMs = 100, now }: RedisLimitsOptions) {
    this.#client = client;
    this.#prefix = prefix;
    this.#timeoutMs = timeoutMs;
    this.#now = now;
  }

  charge(charges: readonly Charge[], cost: number): Promise<LimitState> {
    const fault = faultOfCharges(charges, cost);
    if (fault !== undefined) return Promise.reject(fault);
    return new Promise((resolve, reject) => {
      if (this.#waiting.length === 0) setImmediate(() => this.#sendAll());
      this.#waiting.push({ charges, cost, resolve, reject });
    });
  }

  #sendAll(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    if (!this.#client.isCluster) return this.#sendBatches(waiting);
    for (const ofTag of Map.groupBy(waiting, tagOf).values()) this.#sendBatches(ofTag);
  }

  #sendBatches(waiting: readonly Waiting[]): void {
    if (waiting.length <= MAX_BATCH) this.#send(waiting);
    else for (let from = 0; from < waiting.length; from += MAX_BATCH) this.#send(waiting.slice(from, from + MAX_BATCH));
  }

  #send(batch: readonly Waiting[]): void {
    const { keys, text } = encodeBatch(
      batch,
      this.#client.isCluster ? `${this.#prefix}{${tagOf(batch[0]!)}}` : this.#prefix,
    );
    const nowText = this.#now === undefined ? '' : String(Math.round(this.#now() * 1000));
    let settled = false;
    const fail = (error: unknown): void => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      for (const { reject } of batch) reject(error);
    };
    const timer = setTimeout(() => {
      // When it was this process that stood still, the answer is there already and the next turn of the loop reads it.
      setImmediate(() => fail(new Error(`Redis did not answer within ${this.#timeoutMs} ms.`)));
    }, this.#timeoutMs);
    this.#call([...keys, text, nowText], keys.length).then((answer) => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      settleBatch(batch, answer);
    }, fail);
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
const tagOf = ({ charges }: Waiting): string => charges[0]?.bucket.replaceAll('}', ')') ?? '';

function encodeBatch(batch: readonly Waiting[], prefix: string): { keys: string[]; text: string } {
  const positions = new Map<string, number>();
  const keys: string[] = [];
  let text = '';
  for (const { charges, cost } of batch) {
    text += text === '' ? `[[${cost}` : `],[${cost}`;
    for (const { bucket, policy } of charges) {
      let position = positions.get(bucket);
      if (position === undefined) {
        position = keys.push(prefix + bucket);
        positions.set(bucket, position);
      }
      text += `,${position},${policy.ratePerSecond},${policy.burst}`;
    }
  }
  return { keys, text: `${text}]]` };
}

function settleBatch(batch: readonly Waiting[], answer: unknown): void {
  const numbers: unknown = typeof answer === 'string' ? parseQuietly(answer) : undefined;
  for (const [index, waiting] of batch.entries()) {
    const state = Array.isArray(numbers) ? stateFrom(waiting.charges, numbers, index * ANSWER_WIDTH) : undefined;
    if (state === undefined) waiting.reject(new Error('Redis answered a charge with something else.'));
    else waiting.resolve(state);
  }
}

function stateFrom(charges: readonly Charge[], numbers: readonly unknown[], start: number): LimitState | undefined {
  const admitted = numbers[start] === 1;
  const policy = charges[Number(numbers[start + 1])]?.policy;
  const remaining = numbers[start + 2];
  const seconds = numbers[start + 3];
  if (policy === undefined || typeof remaining !== 'number' || typeof seconds !== 'number') return undefined;
  return { admitted, policy, remaining, resetSeconds: seconds, retryAfterSeconds: admitted ? 0 : seconds };
}

function parseQuietly(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
