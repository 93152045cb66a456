/** The end of a caller's wait: its own signal, or the time limit. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** Milliseconds since the epoch. */
  readonly atMs: number;
  /** Clears the timer. */
  clear(): void;
}

export function deadlineIn(ms: number, nowMs: number, signal: AbortSignal | undefined): Deadline {
  const controller = new AbortController();
  const end = (): void => controller.abort();
  const timer = setTimeout(end, ms);
  if (signal?.aborted === true) end();
  signal?.addEventListener('abort', end, { once: true });
  return {
    signal: controller.signal,
    atMs: nowMs + ms,
    clear: () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
    },
  };
}

/** Resolves with the promise's value, or with undefined once the deadline has passed. */
export function orEnded<Value>(promise: Promise<Value>, { signal }: Deadline): Promise<Value | undefined> {
  if (signal.aborted) return Promise.resolve(undefined);
  return new Promise((resolve, reject) => {
    const end = (): void => resolve(undefined);
    signal.addEventListener('abort', end, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', end));
  });
}

/** Resolves true after the full pause, false if the deadline ended it. */
export function pause(ms: number, { signal }: Deadline): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      resolve(false);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', end);
      resolve(true);
    }, ms);
    signal.addEventListener('abort', end, { once: true });
  });
}
