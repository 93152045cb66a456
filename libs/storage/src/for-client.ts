import { AsyncLocalStorage } from 'node:async_hooks';
import type { LeasedClient } from './bounded-client.ts';

const wanted = new AsyncLocalStorage<AbortSignal>();

/**
 * Runs work whose statements are of no use once `signal` is aborted: a pool that `givesUp` ends them then, here and on
 * the server.
 */
export const forClient = <Result>(signal: AbortSignal, work: () => Result): Result => wanted.run(signal, work);

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
