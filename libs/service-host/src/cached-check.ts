export interface CachedCheckOptions<State> {
  readonly check: () => Promise<State>;
  /** What is told of a check that did not end, or failed. */
  readonly otherwise: State;
  readonly deadlineMs: number;
  /** How long an answer is given again. */
  readonly keepMs: number;
  readonly now: () => number;
}

/** Asks at most once at a time, and again only after a while, so that probes cost the ledger next to nothing. */
export function cachedCheck<State>(options: CachedCheckOptions<State>): () => Promise<State> {
  const { check, otherwise, deadlineMs, keepMs, now } = options;
  let kept: { readonly state: State; readonly untilMs: number } | undefined;
  let asking: Promise<State> | undefined;
  const ask = async (): Promise<State> => {
    let timer: NodeJS.Timeout | undefined;
    const tooLate = new Promise<State>((resolve) => {
      timer = setTimeout(() => resolve(otherwise), deadlineMs);
    });
    try {
      const state = await Promise.race([check().catch(() => otherwise), tooLate]);
      kept = { state, untilMs: now() + keepMs };
      return state;
    } finally {
      clearTimeout(timer);
      asking = undefined;
    }
  };
  return () => {
    if (kept !== undefined && now() < kept.untilMs) return Promise.resolve(kept.state);
    asking ??= ask();
    return asking;
  };
}
