import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { systemCodeOf } from './local-service-error.ts';

/** Whether a process with that pid exists, also of another user. A zombie counts as gone: it holds no resources. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return systemCodeOf(error) === 'EPERM';
  }
  return !isZombie(pid);
}

function isZombie(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).startsWith('Z');
  } catch {
    return false; // No /proc on this system, or the process has just ended, which the next call sees.
  }
}

/**
 * The command line of a process, arguments separated by spaces; empty if unknown. Pids are reused, so this must be
 * checked before a process from a pid file is signalled.
 */
export function commandLineOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
  } catch {
    return psColumn(pid, 'args=');
  }
}

/** A column of `ps` for systems without /proc; empty on failure. */
function psColumn(pid: number, column: string): string {
  try {
    return execFileSync('ps', ['-o', column, '-p', String(pid)], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: 5_000,
    }).trim();
  } catch {
    return '';
  }
}

/**
 * An opaque start time of the process, only comparable for equality; undefined if unknown. Pid and start time together
 * identify a process, since pids are reused.
 */
export function startOfProcess(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The 22nd field (proc_pid_stat(5)): clock ticks since boot. The second, in brackets, may itself hold spaces.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return psColumn(pid, 'lstart=') || undefined;
  }
}

/** Waits until the process is gone; false if it is still alive after `timeoutMs`. */
export async function waitUntilGone(pid: number, timeoutMs: number): Promise<boolean> {
  const end = performance.now() + timeoutMs;
  while (isAlive(pid)) {
    if (performance.now() >= end) return false;
    await delay(20);
  }
  return true;
}

/** Sends a signal; a process that is already gone is not an error. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (systemCodeOf(error) !== 'ESRCH') throw error;
  }
}

/** Sends the signals in order, waiting `waitMs` after each, until the process is gone. */
export async function endProcess(
  pid: number,
  steps: readonly { readonly name: NodeJS.Signals; readonly waitMs: number }[],
): Promise<void> {
  for (const { name, waitMs } of steps) {
    signal(pid, name);
    signal(pid, 'SIGCONT'); // A stopped process handles the first signal only after SIGCONT.
    if (await waitUntilGone(pid, waitMs)) return;
  }
}
