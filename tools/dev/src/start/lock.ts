import { closeSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { commandLineOf, explainFileError, isAlive, startOfProcess, systemCodeOf } from '@sealgate/local-services';
import { npmCommand } from './commands.ts';
import type { DataFolder } from './data-folder.ts';
import { endedProcesses } from './run-file.ts';
import { UserError } from './user-error.ts';

/** Part of the command line of every start, by which a process id in a lock is known to be still one of ours. */
const mark = 'tools/dev/src/main.ts';

/** The process that holds the data now; undefined when there is none. What a killed one left does not count. */
export function lockHolder(lockFile: string): number | undefined {
  const held = readLock(lockFile);
  if (held === undefined || !isAlive(held.pid) || !commandLineOf(held.pid).includes(mark)) return undefined;
  // A start on other data may have got the id since; it did not start when the holder did.
  const isReused = held.started !== undefined && held.started !== startOfProcess(held.pid);
  return isReused ? undefined : held.pid;
}

interface Held {
  readonly pid: number;
  /** As `startOfProcess` tells it; undefined where it could not. */
  readonly started: string | undefined;
}

function readLock(lockFile: string): Held | undefined {
  try {
    const { pid, started }: Record<string, unknown> = JSON.parse(readFileSync(lockFile, 'utf8'));
    if (typeof pid !== 'number' || !Number.isInteger(pid) || pid <= 1) return undefined;
    return { pid, started: typeof started === 'string' ? started : undefined };
  } catch {
    return undefined; // No lock, or one that was cut short as it was written: its holder is gone.
  }
}

export interface Lock {
  release(): void;
}

/** Takes the data for this process. Throws UserError when another start has it. */
export function takeLock(data: DataFolder): Lock {
  const { lockFile, path } = data;
  for (let tries = 0; tries < 5; tries += 1) {
    const holder = lockHolder(lockFile);
    if (holder !== undefined && holder !== process.pid) throw new UserError(refusal(data, holder));
    if (create(lockFile)) return { release: () => rmSync(lockFile, { force: true }) };
    moveAside(lockFile);
  }
  throw new UserError(`Another start is taking ${path} at this moment.`);
}

function refusal(data: DataFolder, holder: number): string {
  const runs = `Sealgate already runs on ${data.path} (process ${holder})`;
  const stop = npmCommand('stop', data.path);
  const ended = endedProcesses(data);
  if (ended.length === 0) return `${runs}. Stop it with \`${stop}\`, or choose another folder with --data.`;
  const each = ended.map(({ name, logFile }) => `${name} has ended since (its log is ${logFile})`).join(' and ');
  return `${runs}, but ${each}. \`${stop}\`, then \`${npmCommand('start', data.path)}\`, brings it back.`;
}

function create(lockFile: string): boolean {
  try {
    const handle = openSync(lockFile, 'wx', 0o600);
    writeFileSync(handle, `${JSON.stringify({ pid: process.pid, started: startOfProcess(process.pid) })}\n`);
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
