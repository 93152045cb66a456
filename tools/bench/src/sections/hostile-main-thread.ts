import { readFileSync } from 'node:fs';

/** What the main thread of a process had of the processors so far. */
export interface ThreadTimes {
  readonly ranMs: number;
  /** It had something to do, and others had the cores. */
  readonly waitedMs: number;
}

/** By the scheduler's own account (Linux, proc(5)); undefined where there is none. */
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

/** What it had between two moments; not numbers where that is not known. */
export function timesBetween(before: ThreadTimes | undefined, after: ThreadTimes | undefined): ThreadTimes {
  if (before === undefined || after === undefined) return { ranMs: Number.NaN, waitedMs: Number.NaN };
  return { ranMs: after.ranMs - before.ranMs, waitedMs: after.waitedMs - before.waitedMs };
}
