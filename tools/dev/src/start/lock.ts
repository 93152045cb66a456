import { closeSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { commandLineOf, explainFileError, isAlive, systemCodeOf } from '@sealgate/local-services';
import { UserError } from './user-error.ts';

/** Part of the command line of every start, by which a process id in a lock is known to be still one of ours. */
const mark = 'tools/dev/src/main.ts';

/** The process that holds the data now; undefined when there is none. What a killed one left does not count. */
export function lockHolder(lockFile: string): number | undefined {
  const pid = readPid(lockFile);
  return pid !== undefined && isAlive(pid) && commandLineOf(pid).includes(mark) ? pid : undefined;
}

function readPid(lockFile: string): number | undefined {
  try {
    const pid: unknown = JSON.parse(readFileSync(lockFile, 'utf8')).pid;
    return typeof pid === 'number' && Number.isInteger(pid) && pid > 1 ? pid : undefined;
  } catch {
    return undefined; // No lock, or one that was cut short as it was written: its holder is gone.
  }
}

export interface Lock {
  release(): void;
}

/** Takes the data for this process. Throws UserError when another start has it. */
export function takeLock(lockFile: string, folder: string): Lock {
  for (let tries = 0; tries < 5; tries += 1) {
    const holder = lockHolder(lockFile);
    if (holder !== undefined && holder !== process.pid) {
      throw new UserError(
        `Sealgate already runs on ${folder} (process ${holder}). Stop it with \`npm stop\`, or choose another folder with --data.`,
      );
    }
    if (create(lockFile)) return { release: () => rmSync(lockFile, { force: true }) };
    moveAside(lockFile);
  }
  throw new UserError(`Another start is taking ${folder} at this moment.`);
}

function create(lockFile: string): boolean {
  try {
    const handle = openSync(lockFile, 'wx', 0o600);
    writeFileSync(handle, `${JSON.stringify({ pid: process.pid })}\n`);
    closeSync(handle);
    return true;
  } catch (error) {
    if (systemCodeOf(error) === 'EEXIST') return false;
    throw explainFileError(error, lockFile);
  }
}

/**
 * Removes a lock that its holder left behind. Another start may have done so already and hold a fresh one, which the
 * renaming then caught: that one is put back.
 */
function moveAside(lockFile: string): void {
  const aside = `${lockFile}.${process.pid}`;
  try {
    renameSync(lockFile, aside);
    if (lockHolder(aside) === undefined) rmSync(aside, { force: true });
    else renameSync(aside, lockFile);
  } catch (error) {
    if (systemCodeOf(error) !== 'ENOENT') throw explainFileError(error, lockFile);
  }
}
