import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isAlive, startOfProcess, systemCodeOf } from '@sealgate/local-services';
import { DevnetError } from './devnet-error.ts';

/**
 * Runs `work` while no other up or down works on the same folder. Throws DevnetError when one does. Where the disk is
 * full, `evenIfFull` does the work without a lock: stopping is what then helps.
 */
export async function locked<T>(
  lockFile: string,
  work: () => Promise<T>,
  { evenIfFull = false }: { readonly evenIfFull?: boolean } = {},
): Promise<T> {
  try {
    take(lockFile);
  } catch (error) {
    if (!evenIfFull || !['ENOSPC', 'EDQUOT', 'EROFS'].includes(systemCodeOf(error) ?? '')) throw error;
  }
  try {
    return await work();
  } finally {
    rmSync(lockFile, { force: true });
  }
}

function take(lockFile: string): void {
  for (let tries = 0; tries < 3; tries += 1) {
    if (create(lockFile)) return;
    const holder = holderOf(lockFile);
    if (holder !== undefined)
      throw new DevnetError(
        `Another fabric:up or fabric:down (process ${holder}) works on this network; wait for it to end.`,
      );
    rmSync(lockFile, { force: true }); // Its holder was killed.
  }
  throw new DevnetError('Another fabric:up or fabric:down is taking this network at this moment.');
}

function create(lockFile: string): boolean {
  try {
    writeFileSync(lockFile, JSON.stringify({ pid: process.pid, started: startOfProcess(process.pid) }), { flag: 'wx' });
    return true;
  } catch (error) {
    if (systemCodeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

function holderOf(lockFile: string): number | undefined {
  try {
    const { pid, started }: Record<string, unknown> = JSON.parse(readFileSync(lockFile, 'utf8'));
    if (typeof pid !== 'number' || !isAlive(pid)) return undefined;
    return startOfProcess(pid) === started ? pid : undefined;
  } catch {
    return undefined; // It went away, or was cut short as it was written.
  }
}
