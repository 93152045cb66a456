import { AsyncLocalStorage } from 'node:async_hooks';
import type { LeasedClient } from './bounded-client.ts';

/** What a pool of those who look does so that nobody else waits for them. */
export interface Looking {
  /**
   * The server ends each statement after this time, and keeps its connection. Not set behind a pooler, whose sessions
   * belong to others too: there the deadline ends it, and costs the connection.
   */
  readonly statementTimeoutMs: number;
  /** Whether somebody decides now: then what looks takes no more than half of the time. Default: nobody ever does. */
  readonly yields?: (() => boolean) | undefined;
}

/** Who waits for work that looks. */
export interface LookingClient {
  /** Aborted when the client has gone. */
  readonly signal: AbortSignal;
  /**
   * Names its caller (a key, a person, an address), whose statements take turns with those of others. Default: as in the
   * work around.
   */
  readonly share?: string | undefined;
}

const wanted = new AsyncLocalStorage<LookingClient | undefined>();

/**
 * Runs work whose statements are of no use once the client has gone: a pool of those who look ends them then, here and on
 * the server.
 */
export const forClient = <Result>({ signal, share }: LookingClient, work: () => Result): Result =>
  wanted.run({ signal, share: share ?? lookingClient()?.share }, work);

/** Runs work that others wait for too: it goes on when the client that began it has left. */
export const forEverybody = <Result>(work: () => Result): Result => wanted.run(undefined, work);

/** Who waits for the running work, if one client does. */
export const lookingClient = (): LookingClient | undefined => wanted.getStore();

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

/** Longest rest of a connection after a statement. */
const MAX_REST_MS = 200;

/**
 * How long a connection rests that has looked for `tookMs`, and whose lease ends in `leftMs`: as long, while somebody
 * decides. PostgreSQL divides its processors by backends, whatever they do.
 */
export function restMsOf({ yields }: Looking, { tookMs, leftMs }: { tookMs: number; leftMs: number }): number {
  if (yields?.() !== true) return 0;
  return Math.max(0, Math.min(tookMs, MAX_REST_MS, leftMs));
}

/** Work with results that takes no longer delays nobody much. */
const TURN_MS = 2;
const MAX_AT_ONCE = 16;
/** Longest rest between two turns. */
const MAX_PAUSE_MS = 20;

/**
 * While somebody decides, hands results over in turns of the event loop of their own, so many in one as take about two
 * milliseconds to show: were all shown at once, a request that decides and came meanwhile would wait for them. At first
 * one at a time. Each turn is followed by a rest as long as it was.
 */
export class ResultTurns {
  readonly #yields: () => boolean;
  readonly #waiting: (() => void)[] = [];
  #atOnce = 1;
  #isHanding = false;

  constructor(yields: () => boolean) {
    this.#yields = yields;
  }

  next<Result>(result: Result): Promise<Result> {
    if (!this.#isHanding && !this.#yields()) return Promise.resolve(result);
    return new Promise((resolve) => {
      this.#waiting.push(() => resolve(result));
      if (this.#isHanding) return;
      this.#isHanding = true;
      setImmediate(this.#hand);
    });
  }

  readonly #hand = (): void => {
    if (this.#waiting.length === 0) {
      this.#isHanding = false;
      return;
    }
    const startedAt = performance.now();
    const handed = this.#waiting.splice(0, this.#atOnce);
    for (const hand of handed) hand();
    // What they are awaited by runs before this.
    setImmediate(() => {
      const tookMs = performance.now() - startedAt;
      if (tookMs > TURN_MS) this.#atOnce = Math.max(1, this.#atOnce >> 1);
      else if (handed.length === this.#atOnce) this.#atOnce = Math.min(MAX_AT_ONCE, this.#atOnce * 2);
      if (tookMs >= 1 && this.#waiting.length > 0 && this.#yields())
        setTimeout(this.#hand, Math.min(tookMs, MAX_PAUSE_MS));
      else this.#hand();
    });
  };
}
