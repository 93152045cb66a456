import { readFileSync } from 'node:fs';

/** CPU time of the main thread of a process so far. */
export interface ThreadTimes {
  readonly ranMs: number;
  /** Runnable time without a core. */
  readonly waitedMs: number;
}

/** From the scheduler's statistics (Linux, proc(5)); undefined elsewhere. */
export function mainThreadTimes(pid: number): ThreadTimes | undefined {
  try {
    const [ranNs = Number.NaN, waitedNs = Number.NaN] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8')
      .split(' ')
      .map(Number);
    return { ranMs: ranNs / 1e6, waitedMs: waitedNs / 1e6 };
  } catch {
    return undefined;
  }
}

/** The difference between two moments; NaN where it is not known. */
export function timesBetween(before: ThreadTimes | undefined, after: ThreadTimes | undefined): ThreadTimes {
  if (before === undefined || after === undefined) return { ranMs: Number.NaN, waitedMs: Number.NaN };
  return { ranMs: after.ranMs - before.ranMs, waitedMs: after.waitedMs - before.waitedMs };
}
