import { AsyncLocalStorage } from 'node:async_hooks';
import { Pool, type PoolClient, type PoolConfig } from 'pg';
import { activeSpan } from '@sealgate/observability';

type TakeClient = (error?: Error, client?: PoolClient, release?: (error?: Error | boolean) => void) => void;

/**
 * A pool of which no caller waits longer than `waitMs`, however long a connection takes. A caller that waited continues
 * in its own trace, not in that of the caller that returned the connection.
 */
export class BoundedPool extends Pool {
  readonly #waitMs: number;

  constructor(waitMs: number, options: PoolConfig) {
    super(options);
    this.#waitMs = waitMs;
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
      give(new Error('No connection became free before the deadline.'));
    };
    // Sockets are polled once more first: what arrived while this process was busy counts.
    const timer = setTimeout(() => setImmediate(giveUp), Math.min(waitMs, this.#waitMs));
    super.connect((error, client, release) => {
      clearTimeout(timer);
      if (state === 'late') return client?.release();
      state = 'given';
      return give(error, client, release);
    });
  }
}
