import { forEverybody } from './looking.ts';

export interface BackgroundLoopOptions {
  /** `stopping` is aborted by `stop`, so that a run can end early. */
  readonly work: (stopping: AbortSignal) => Promise<unknown>;
  /** From the end of a run to the start of the next; a function is called after each run. */
  readonly pauseMs: number | (() => number);
  /** Delay of the first run. Default: none. */
  readonly firstAfterMs?: number;
  /** Called with an error of `work`, once per distinct message until a run succeeds. The loop continues. */
  readonly onFailure: (error: unknown) => void;
  /** Calls `done` once after `ms` unless the returned function is called first. Default: setTimeout. */
  readonly startTimer?: (done: () => void, ms: number) => () => void;
}

export interface BackgroundLoop {
  /** Ends the pause; during a run, another follows it at once. */
  wake(): void;
  /** Stops the loop; waits for the current run. */
  stop(): Promise<void>;
}

/** Runs `work` repeatedly until stopped, never concurrently. The first run starts after this returns. */
export function backgroundLoop(options: BackgroundLoopOptions): BackgroundLoop {
  const { work, pauseMs, firstAfterMs = 0, onFailure, startTimer: start = startTimer } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  const reported = new Set<string>();
  let endPause: (() => void) | undefined;
  let running: Promise<void> | undefined;
  let isWoken = false;

  const run = async (): Promise<void> => {
    isWoken = false;
    try {
      // A loop may have been started or woken by a request, whose client may leave.
      await forEverybody(() => work(signal));
      reported.clear();
    } catch (error) {
      reportOnce(error);
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
  const reportOnce = (error: unknown): void => {
    const reason = reasonOf(error);
    if (reported.has(reason)) return;
    // Messages that all differ must not fill the memory.
    if (reported.size >= MAX_REPORTED) reported.clear();
    reported.add(reason);
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

const MAX_REPORTED = 100;

/** An error and its cause, in one line for a log. */
export function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause === undefined ? String(error) : `${String(error)} ${String(cause)}`;
}

/** Calls `done` once after `ms` unless the returned function is called first. */
export function startTimer(done: () => void, ms: number): () => void {
  const timer = setTimeout(done, ms);
  return () => clearTimeout(timer);
}
