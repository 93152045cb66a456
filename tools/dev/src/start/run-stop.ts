import { existsSync } from 'node:fs';
import { endProcess } from '@sealgate/local-services';
import { dataFolder } from './data-folder.ts';
import { lockHolder, takeLock } from './lock.ts';
import { reporter } from './reporter.ts';
import { endOrphans } from './run-file.ts';
import { told } from './run-start.ts';
import { parseStopOptions } from './start-options.ts';
import { UserError } from './user-error.ts';

/** `npm stop`. Gives the exit code: nothing to stop is no failure. */
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
      throw new UserError(`Process ${holder} has not ended within ${stopTimeoutMs / 1_000} seconds.`);
    return 'Stopped.';
  }
  if (!existsSync(data.lockFile)) return `Nothing runs on ${path}.`;
  const lock = takeLock(data);
  try {
    const ended = await endOrphans(data);
    return ended === 0 ? `Nothing runs on ${path}.` : `Stopped ${ended} that a killed start had left.`;
  } finally {
    lock.release();
  }
}
