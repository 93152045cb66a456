import { startTimer } from './background-loop.ts';

export interface WriteBehindOptions<Value> {
  /** Writes all that was put since the last write; by key, in the order of the first put of each. */
  readonly write: (batch: ReadonlyMap<string, Value>) => Promise<unknown>;
  /** From the first put to the write. */
  readonly delayMs: number;
  /** Keys that wait at a time. */
  readonly mostWaiting: number;
  /** Told what `write` threw. Its batch is dropped. */
  readonly onFailure: (error: unknown, batch: ReadonlyMap<string, Value>) => void;
}

export interface WriteBehind<Value> {
  get(key: string): Value | undefined;
  /** Returns at once; false where too many wait, or it is closed: the value is dropped then. */
  put(key: string, value: Value): boolean;
  /** Writes what waits. Never rejects. */
  flush(): Promise<void>;
  /** Writes what waits, for the last time. Never rejects. */
  close(): Promise<void>;
}

/** Collects what may be lost, and writes it together a moment later, off the path of requests; one write at a time. */
export function writeBehind<Value>(options: WriteBehindOptions<Value>): WriteBehind<Value> {
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
