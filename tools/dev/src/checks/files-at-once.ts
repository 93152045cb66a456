import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

/**
 * Measured: 140 ms under a hypervisor that makes page faults dear, where four files of stories at once took five times as
 * long; 80 ms where four of the first fourteen failed, three at once; 52 ms where three of all missed a deadline by a
 * little, four at once, and passed alone.
 */
const SLOW_START_MS = 65;
const FAST_START_MS = 45;
const STARTS = 3;
const MOST_FILES = 4;

/**
 * How many files of tests on real services run at once. Such tests wait for their services half of the time, so two files
 * share a core. Where programs start slowly, the services that tests start take the cores for themselves, and two files
 * on one of them would only make each other miss their deadlines.
 */
export function filesAtOnce(cores: number = availableParallelism(), startMs: number = programStartMs()): number {
  return Math.min(MOST_FILES, Math.ceil(cores * filesOfCore(startMs)));
}

function filesOfCore(startMs: number): number {
  if (startMs > SLOW_START_MS) return 1;
  return startMs > FAST_START_MS ? 1.5 : 2;
}

/** Milliseconds that an empty program takes from its start to its end; the best of a few. */
function programStartMs(): number {
  const took = Array.from({ length: STARTS }, () => {
    const startedMs = performance.now();
    spawnSync(process.execPath, ['--eval', ''], { stdio: 'ignore' });
    return performance.now() - startedMs;
  });
  return Math.min(...took);
}
