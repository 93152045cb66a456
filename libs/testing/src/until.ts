import { setTimeout as delay } from 'node:timers/promises';

export interface UntilOptions {
  readonly timeoutMs?: number;
  /** What is waited for, for the message of the failure. */
  readonly what?: string;
}

/**
 * Waits until the condition holds, looking every few milliseconds. Throws when it does not within `timeoutMs` (5 s).
 * A condition that throws has not come true yet; the last thing it threw becomes the cause.
 */
export async function until(
  condition: () => boolean | Promise<boolean>,
  { timeoutMs = 5_000, what = 'the condition' }: UntilOptions = {},
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
    if (performance.now() >= end) throw new Error(`Waited ${timeoutMs} ms in vain for ${what}.`, { cause });
    await delay(10);
  }
}
