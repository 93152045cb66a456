/** Resolves after so many milliseconds, or once the signal is aborted. */
export function pause(
  ms: number,
  signal: AbortSignal,
  startTimer: (done: () => void, ms: number) => () => void,
): Promise<void> {
  if (ms <= 0 || signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      stopTimer();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const stopTimer = startTimer(end, ms);
    signal.addEventListener('abort', end);
  });
}
