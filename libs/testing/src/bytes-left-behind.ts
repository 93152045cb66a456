import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Growth of V8's old space in bytes while `work` runs, after a full collection: garbage that minor collections could
 * not free because old objects still reference it. A full collection during `work` makes it smaller.
 */
export async function bytesLeftBehind(work: () => Promise<void>): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (options?: { type: 'minor' }) => void;
  collect();
  const before = oldBytes();
  await work();
  // Objects that survive two minor collections are old.
  collect({ type: 'minor' });
  collect({ type: 'minor' });
  return oldBytes() - before;
}

const oldBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name: name }) => name === 'old_space')?.space_used_size ?? Number.NaN;
