export interface BackgroundLoopOptions {
  /** `stopping` is aborted by `stop`, for a run that can end early. */
  readonly work: (stopping: AbortSignal) => Promise<unknown>;
  /** From the end of a run to the start of the next; a function is asked after each run. */
  readonly pauseMs: number | (() => number);
  /** Until the first run. Default: none. */
  readonly firstAfterMs?: number;
  /** Told what `work` threw, once for each thing that it says until a run succeeds. The loop goes on. */
  readonly onFailure: (error: unknown) => void;
  /** Calls `done` once, later, unless what it returns is called before. Default: setTimeout. */
  readonly startTimer?: (done: () => void, ms: number) => () => void;
}

export interface BackgroundLoop {
  /** Ends the pause; where a run is under way, another follows it at once. */
  wake(): void;
  /** Ends the pause, and waits for the run that is under way. None follows. */
  stop(): Promise<void>;
}

/** Runs `work` again and again until it is stopped, never two runs at a time. The first begins after this has returned. */
export function backgroundLoop(options: BackgroundLoopOptions): BackgroundLoop {
  const { work, pauseMs, firstAfterMs = 0, onFailure, startTimer: start = startTimer } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  const told = new Set<string>();
  let endPause: (() => void) | undefined;
  let running: Promise<void> | undefined;
  let isWoken = false;

  const run = async (): Promise<void> => {
    isWoken = false;
    try {
      await work(signal);
      told.clear();
    } catch (error) {
      tellOnce(error);
    }
    running = undefined;
    pause(isWoken ? 0 : typeof pauseMs === 'number' ? pauseMs : pauseMs());
  };
  const pause = (ms: number): void => {
    if (signal.aborted) return;
    endPause = start(() => {
      endPause = undefined;
      running = run();
    }, ms);
  };
  const tellOnce = (error: unknown): void => {
    const reason = reasonOf(error);
    if (told.has(reason)) return;
    // Reasons that are never the same twice must not fill the memory.
    if (told.size >= MOST_TOLD) told.clear();
    told.add(reason);
    onFailure(error);
  };

  pause(firstAfterMs);
  return {
    wake() {
      isWoken = true;
      if (endPause === undefined) return;
      endPause();
      pause(0);
    },
    async stop() {
      stopping.abort();
      endPause?.();
      await running;
    },
  };
}

const MOST_TOLD = 100;

/** An error and what caused it, in one line for a log. */
export function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause === undefined ? String(error) : `${String(error)} ${String(cause)}`;
}

/** Calls `done` once, later, unless what it returns is called before. */
export function startTimer(done: () => void, ms: number): () => void {
  const timer = setTimeout(done, ms);
  return () => clearTimeout(timer);
}
