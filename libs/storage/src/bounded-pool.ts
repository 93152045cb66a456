import { AsyncLocalStorage } from 'node:async_hooks';
import { Pool, type PoolClient, type PoolConfig } from 'pg';
import { activeSpan } from '@sealgate/observability';
import { DatabaseUnavailableError } from './database-errors.ts';
import { FairTurns } from './fair-turns.ts';
import { lookingClient } from './looking.ts';

type TakeClient = (error?: Error, client?: PoolClient, release?: (error?: Error | boolean) => void) => void;

/** Of work that has no client of its own. */
const NOBODY = '';

/**
 * A pool of which no caller waits longer than `waitMs`, however long a connection takes. A caller that waited continues
 * in its own trace, not in that of the caller that returned the connection. With `isFair`, clients take turns (see
 * `FairTurns`): many statements of one are not in front of those of another.
 */
export class BoundedPool extends Pool {
  readonly #waitMs: number;
  readonly #turns: FairTurns | undefined;
  readonly #holders = new WeakMap<PoolClient, string>();

  constructor(waitMs: number, { isFair, ...options }: PoolConfig & { readonly max: number; readonly isFair: boolean }) {
    super(options);
    this.#waitMs = waitMs;
    if (!isFair) return;
    const turns = (this.#turns = new FairTurns(options.max));
    this.on('release', (_error, client) => turns.leave(this.#holders.get(client)!));
  }

  /** Callers queued for a connection. */
  get waiting(): number {
    return this.waitingCount + (this.#turns?.waiting ?? 0);
  }

  override connect(...[callback]: unknown[]): never {
    if (typeof callback !== 'function') {
      return new Promise<PoolClient | undefined>((resolve, reject) => {
        this.connect((error?: Error, client?: PoolClient) => (error ? reject(error) : resolve(client)));
      }) as never;
    }
    return this.take(this.#waitMs, callback as TakeClient) as never;
  }

  /** Like `connect` with a wait of its own, `waitMs` at most. */
  take(waitMs: number, callback: TakeClient): void {
    const give = activeSpan() === undefined ? callback : AsyncLocalStorage.bind(callback);
    let state: 'waiting' | 'late' | 'given' = 'waiting';
    const giveUp = (): void => {
      if (state !== 'waiting') return;
      state = 'late';
      withdraw?.();
      give(new DatabaseUnavailableError('No connection became free before the deadline.', { sent: false }));
    };
    // Sockets are polled once more first: what arrived while this process was busy counts.
    const timer = setTimeout(() => setImmediate(giveUp), Math.min(waitMs, this.#waitMs));
    const withdraw = this.#inTurn((error, client, release) => {
      clearTimeout(timer);
      if (state === 'late') return client?.release();
      state = 'given';
      return give(error, client, release);
    });
  }

  /** Connects when it is the turn of the client; the returned function withdraws what still waits for it. */
  #inTurn(callback: TakeClient): (() => void) | undefined {
    const turns = this.#turns;
    if (turns === undefined) return void super.connect(callback);
    const holder = lookingClient()?.share ?? NOBODY;
    return turns.ask(holder, () =>
      super.connect((error, client, release) => {
        if (client === undefined) turns.leave(holder);
        else this.#holders.set(client, holder);
        callback(error, client, release);
      }),
    );
  }
}
