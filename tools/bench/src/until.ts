import { setTimeout as delay } from 'node:timers/promises';

/** Asks again and again until it is so. Throws when that takes too long; `late` says what has not happened. */
export async function until(
  isSo: () => Promise<boolean>,
  { withinMs, againMs, late }: { readonly withinMs: number; readonly againMs: number; readonly late: string },
): Promise<void> {
  const endAt = performance.now() + withinMs;
  while (!(await isSo())) {
    if (performance.now() > endAt) throw new Error(late);
    await delay(againMs);
  }
}
