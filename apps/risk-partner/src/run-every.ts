/** Something that is done again and again, each time a while after the last one has ended. */
export interface Repeated {
  /** Does it soon, not waiting for the pause to end. */
  wake(): void;
  /** Waits for the one that runs; none follows. */
  stop(): Promise<void>;
}

export interface RepeatedOptions {
  /** Does it; tells whether there is more to do at once. A rejection counts as no. */
  readonly work: () => Promise<boolean>;
  readonly pauseMs: number;
  readonly onError: (error: unknown) => void;
}

/** Runs `work` at once, and from then on after each pause. Never two at a time. */
export function runEvery({ work, pauseMs, onError }: RepeatedOptions): Repeated {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let again = false;
  let stopped = false;

  const round = async (): Promise<void> => {
    again = false;
    const more = await work().catch((error: unknown) => {
      onError(error);
      return false;
    });
    running = undefined;
    schedule(more || again ? 0 : pauseMs);
  };
  const schedule = (ms: number): void => {
    if (stopped) return;
    timer = setTimeout(() => {
      timer = undefined;
      running = round();
    }, ms);
  };
  schedule(0);
  return {
    wake() {
      again = true;
      if (running !== undefined || timer === undefined) return;
      clearTimeout(timer);
      schedule(0);
    },
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
