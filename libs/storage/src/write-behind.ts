import { startTimer } from './background-loop.ts';

interface WriteBehind<Value> {
  get(key: string): Value | undefined;
  /** Returns at once; false if the value was dropped because too many keys wait or it is closed. */
  put(key: string, value: Value): boolean;
  /** Writes the waiting values. Never rejects. */
  flush(): Promise<void>;
  /** Writes the waiting values and refuses further ones. Never rejects. */
  close(): Promise<void>;
}

/** Batches values that may be lost and writes them after a delay, outside of requests; one write at a time. */
export function writeBehind<Value>(options: {
  /** Writes everything put since the last write; by key, in the order of the first put of each. */
  readonly write: (batch: ReadonlyMap<string, Value>) => Promise<unknown>;
  /** Delay from the first put to the write. */
  readonly delayMs: number;
  /** Maximum keys that wait for a write. */
  readonly mostWaiting: number;
  /** Called with the error of `write`. Its batch is dropped. */
  readonly onFailure: (error: unknown, batch: ReadonlyMap<string, Value>) => void;
}): WriteBehind<Value> {
  const { write, delayMs, mostWaiting, onFailure } = options;
  let waiting = new Map<string, Value>();
  let stopTimer: (() => void) | undefined;
  let writing: Promise<unknown> = Promise.resolve();
  let isClosed = false;

  const flush = async (): Promise<void> => {
    stopTimer?.();
    stopTimer = undefined;
    const batch = waiting;
    waiting = new Map();
    if (batch.size > 0) writing = writing.then(() => write(batch)).catch((error: unknown) => onFailure(error, batch));
    await writing;
  };
  return {
    get: (key) => waiting.get(key),
    put(key, value) {
      if (isClosed || (waiting.size >= mostWaiting && !waiting.has(key))) return false;
      waiting.set(key, value);
      stopTimer ??= startTimer(() => void flush(), delayMs);
      return true;
    },
    flush,
    close() {
      isClosed = true;
      return flush();
    },
  };
}
