import { setTimeout as delay } from 'node:timers/promises';

/**
 * Polls the condition every 10 ms until it is true; throws after `timeoutMs` (20 s). A condition that throws counts as
 * false; its last error becomes the cause.
 */
export async function until(
  condition: () => boolean | Promise<boolean>,
  {
    timeoutMs = 20_000,
    what = 'the condition',
  }: {
    readonly timeoutMs?: number;
    /** What is awaited, for the error message. */
    readonly what?: string;
  } = {},
): Promise<void> {
  const end = performance.now() + timeoutMs;
  let cause: unknown;
  for (;;) {
    try {
      if (await condition()) return;
      cause = undefined;
    } catch (error) {
      cause = error;
    }
    if (performance.now() >= end) throw new Error(`Timed out after ${timeoutMs} ms waiting for ${what}.`, { cause });
    await delay(10);
  }
}
