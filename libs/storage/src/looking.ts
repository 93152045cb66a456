import { AsyncLocalStorage } from 'node:async_hooks';
import type { LeasedClient } from './bounded-client.ts';

/** What a pool of those who look does so that nobody else waits for them. */
export interface Looking {
  /**
   * The server ends each statement after this time, and keeps its connection. Not set behind a pooler, whose sessions
   * belong to others too: there the deadline ends it, and costs the connection.
   */
  readonly statementTimeoutMs: number;
}

const wanted = new AsyncLocalStorage<AbortSignal | undefined>();

/**
 * Runs work whose statements are of no use once `signal` is aborted: a pool of those who look ends them then, here and on
 * the server.
 */
export const forClient = <Result>(signal: AbortSignal, work: () => Result): Result => wanted.run(signal, work);

/** Runs work that others wait for too: it goes on when the client that began it has left. */
export const forEverybody = <Result>(work: () => Result): Result => wanted.run(undefined, work);

/** The signal of the client that waits for the running work, if any. */
export const clientSignal = (): AbortSignal | undefined => wanted.getStore();

/** A statement that ends so soon after its client has left is not worth a connection. */
const LEFT_FOR_MS = 50;

/** Gives up the statement of a connection some time after the signal. The returned function ends the watch. */
export function giveUpWith(client: Pick<LeasedClient, 'giveUp'>, signal: AbortSignal): () => void {
  let timer: NodeJS.Timeout | undefined;
  const leave = (): void => {
    timer = setTimeout(() => client.giveUp(new Error('The client has gone.')), LEFT_FOR_MS);
  };
  if (signal.aborted) leave();
  else signal.addEventListener('abort', leave, { once: true });
  return () => {
    clearTimeout(timer);
    signal.removeEventListener('abort', leave);
  };
}

/**
 * Hands results over one by one, each in a turn of the event loop of its own. To show a page takes milliseconds: were
 * several shown in one turn, a request that decides and came meanwhile would wait for all of them.
 */
export class ResultTurns {
  readonly #waiting: (() => void)[] = [];

  next<Result>(result: Result): Promise<Result> {
    return new Promise((resolve) => {
      if (this.#waiting.push(() => resolve(result)) === 1) setImmediate(this.#hand);
    });
  }

  readonly #hand = (): void => {
    this.#waiting[0]?.();
    this.#waiting.shift();
    if (this.#waiting.length > 0) setImmediate(this.#hand);
  };
}
