import { existsSync } from 'node:fs';
import { endProcess } from '@sealgate/local-services';
import { dataFolder } from './data-folder.ts';
import { endOrphans, lockHolder, takeLock } from './lock.ts';
import { reporter, told } from './run-start.ts';
import { parseStopOptions } from './start-options.ts';
import { UserError } from './user-error.ts';

/** `npm stop`. Returns the exit code: nothing to stop is not a failure. */
export async function runStop(parameters: readonly string[]): Promise<number> {
  const report = reporter();
  try {
    report.tell(await stop(parseStopOptions(parameters, process.env)));
    return 0;
  } catch (error) {
    return told(error, report);
  }
}

const stopTimeoutMs = 120_000;

async function stop(path: string): Promise<string> {
  const data = dataFolder(path);
  const holder = lockHolder(data.lockFile);
  if (holder !== undefined) {
    await endProcess(holder, [{ name: 'SIGTERM', waitMs: stopTimeoutMs }]);
    if (lockHolder(data.lockFile) !== undefined)
      throw new UserError(`Process ${holder} has not exited within ${stopTimeoutMs / 1_000} seconds.`);
    return 'Stopped.';
  }
  if (!existsSync(data.lockFile)) return `Nothing is running in ${path}.`;
  const lock = takeLock(data);
  try {
    const ended = await endOrphans(data);
    return ended === 0 ? `Nothing is running in ${path}.` : `Stopped ${ended} orphaned processes of a killed start.`;
  } finally {
    lock.release();
  }
}
