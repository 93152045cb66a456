import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * How many bytes V8's old space grows by while `work` runs, a full collection before it: garbage that collections of the young
 * could not free, because something old still led to it. A full collection in between makes it less.
 */
export async function bytesLeftBehind(work: () => Promise<void>): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (options?: { type: 'minor' }) => void;
  collect();
  const before = oldBytes();
  await work();
  // What outlives two of them is old.
  collect({ type: 'minor' });
  collect({ type: 'minor' });
  return oldBytes() - before;
}

const oldBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name: name }) => name === 'old_space')?.space_used_size ?? Number.NaN;
