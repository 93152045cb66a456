import { closeSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { systemCodeOf } from './local-service-error.ts';
import { commandLineOf, isAlive, startOfProcess } from './processes.ts';

const ATTEMPTS = 5;

/**
 * Creates the lock file for this process, replacing one whose holder is gone. Returns `taken`, or else the process that
 * holds it: undefined while others are taking it at the same moment. File errors are thrown as they are.
 */
export function takeLockFile(
  file: string,
  commandLinePart = '',
): { readonly taken: true } | { readonly taken: false; readonly holder: number | undefined } {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    if (create(file)) return { taken: true };
    const holder = lockHolder(file, commandLinePart);
    if (holder !== undefined) return { taken: false, holder };
    moveAside(file, commandLinePart);
  }
  return { taken: false, holder: undefined };
}

/**
 * The process that holds the lock; undefined if there is none, or if its holder was killed. Process ids are reused, so
 * the start time must match, and the command line must contain `commandLinePart`.
 */
export function lockHolder(file: string, commandLinePart = ''): number | undefined {
  const held = read(file);
  if (held === undefined || !isAlive(held.pid) || !commandLineOf(held.pid).includes(commandLinePart)) return undefined;
  const isReused = held.started !== undefined && held.started !== startOfProcess(held.pid);
  return isReused ? undefined : held.pid;
}

function read(file: string): { pid: number; started: string | undefined } | undefined {
  try {
    const { pid, started }: Record<string, unknown> = JSON.parse(readFileSync(file, 'utf8'));
    if (typeof pid !== 'number' || !Number.isInteger(pid) || pid <= 1) return undefined;
    return { pid, started: typeof started === 'string' ? started : undefined };
  } catch {
    return undefined; // No lock, or a truncated one: its holder was killed while writing it.
  }
}

function create(file: string): boolean {
  try {
    const handle = openSync(file, 'wx', 0o600);
    writeFileSync(handle, `${JSON.stringify({ pid: process.pid, started: startOfProcess(process.pid) })}\n`);
    closeSync(handle);
    return true;
  } catch (error) {
    if (systemCodeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/** Removes a stale lock by renaming it first: if another process has replaced it meanwhile, its lock is put back. */
function moveAside(file: string, commandLinePart: string): void {
  const aside = `${file}.${process.pid}`;
  try {
    renameSync(file, aside);
    if (lockHolder(aside, commandLinePart) === undefined) rmSync(aside, { force: true });
    else renameSync(aside, file);
  } catch (error) {
    if (systemCodeOf(error) !== 'ENOENT') throw error;
  }
}
