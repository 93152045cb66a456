import type { ServerResponse } from 'node:http';
import { AppError } from '@sealgate/errors';

interface Share {
  underWay: number;
  /** Oldest first. */
  readonly waiting: ((isFree: boolean) => void)[];
}

/** Gives a place back. Called once or more. */
export type Leave = () => void;

export interface PlacesOptions {
  /** Requests of one caller under way at a time. */
  readonly places: number;
  /** How long a further one waits for a place; 0: not at all. */
  readonly waitMs: number;
  /** Calls `done` once after `ms`, unless the returned function is called first. */
  readonly startTimer?: (done: () => void, ms: number) => () => void;
}

/** More than a burst admits would wait for nothing. */
const MAX_WAITING = 200;

/**
 * The share of each caller in the work of a process: of requests that look, so many of one caller are under way, whoever
 * else asks. Who has none under way costs no memory.
 */
export class CallerPlaces {
  readonly #options: Required<PlacesOptions>;
  readonly #shares = new Map<string, Share>();

  constructor({ startTimer = startTimeout, ...options }: PlacesOptions) {
    this.#options = { ...options, startTimer };
  }

  /** Callers with requests under way or waiting. */
  get callers(): number {
    return this.#shares.size;
  }

  /** Takes a place: at once, or as soon as one is free. @throws AppError RATE_LIMITED if none becomes free in time. */
  take(caller: string): Leave | Promise<Leave> {
    let share = this.#shares.get(caller);
    if (share === undefined) this.#shares.set(caller, (share = { underWay: 0, waiting: [] }));
    if (share.underWay < this.#options.places) return this.#enter(caller, share);
    return this.#wait(caller, share);
  }

  async #wait(caller: string, share: Share): Promise<Leave> {
    const { waitMs, startTimer } = this.#options;
    if (waitMs === 0 || share.waiting.length >= MAX_WAITING) throw noPlace();
    const isFree = await new Promise<boolean>((resolve) => {
      const stop = startTimer(() => {
        share.waiting.splice(share.waiting.indexOf(end), 1);
        resolve(false);
      }, waitMs);
      const end = (free: boolean): void => {
        stop();
        resolve(free);
      };
      share.waiting.push(end);
    });
    if (!isFree) throw noPlace();
    return this.#leaving(caller, share); // The place was handed over: `underWay` stays.
  }

  #enter(caller: string, share: Share): Leave {
    share.underWay += 1;
    return this.#leaving(caller, share);
  }

  #leaving(caller: string, share: Share): Leave {
    let hasLeft = false;
    return () => {
      if (hasLeft) return;
      hasLeft = true;
      const next = share.waiting.shift();
      if (next !== undefined) return next(true);
      share.underWay -= 1;
      if (share.underWay === 0) this.#shares.delete(caller);
    };
  }
}

/** Sockets are polled once more at the end: an answer that arrived while this process was busy gives its place. */
function startTimeout(done: () => void, ms: number): () => void {
  let late: NodeJS.Immediate | undefined;
  const timer = setTimeout(() => (late = setImmediate(done)), ms);
  return () => {
    clearTimeout(timer);
    clearImmediate(late);
  };
}

const noPlace = (): AppError =>
  new AppError('RATE_LIMITED', 'Too many requests of this caller are under way.', { retryAfterSeconds: 1 });

/** Where the requests that look of all listeners of a process have their places. */
export interface LookPlaces {
  /** Lists, aggregates, searches, tools. */
  readonly brief: CallerPlaces;
  /** Exports and live tails, which may last. */
  readonly stream: CallerPlaces;
}

export const lookPlaces = (startTimer?: PlacesOptions['startTimer']): LookPlaces => {
  const timing = startTimer === undefined ? {} : { startTimer };
  return {
    brief: new CallerPlaces({ places: 8, waitMs: 250, ...timing }),
    stream: new CallerPlaces({ places: 4, waitMs: 0, ...timing }),
  };
};

interface Looking {
  readonly services: { readonly places: LookPlaces };
  readonly share: string;
  readonly response: ServerResponse;
}

/** Takes a place for a request; that of a stream is given back when its answer has ended. @throws AppError RATE_LIMITED */
export async function takePlace({ services, share, response }: Looking, looks: true | 'stream'): Promise<Leave> {
  if (looks === true) return services.places.brief.take(share);
  const leave = await services.places.stream.take(share);
  if (response.closed) leave();
  else response.once('close', leave);
  return leave;
}
