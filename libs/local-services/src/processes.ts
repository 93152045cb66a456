import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { systemCodeOf } from './local-service-error.ts';

/** Whether a process of that id exists, be it ours or another user's. A zombie counts as gone: it holds nothing any more. */
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
    return false; // No /proc on this system, or the process went away meanwhile: the next look tells.
  }
}

/**
 * The command line of a process, its arguments separated by spaces; empty when it cannot be told.
 * Ids are reused, so nothing is ever signalled on the strength of a pid file alone: this says whether it is still ours.
 */
export function commandLineOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
  } catch {
    return saidByPs(pid, 'args=');
  }
}

/** What `ps` says of a process where there is no /proc; empty when it says nothing. */
function saidByPs(pid: number, column: string): string {
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
 * When the process started, in words that only compare with themselves; undefined when it cannot be told. Together with
 * its id they are of one process alone, for ids are reused.
 */
export function startOfProcess(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The 22nd field (proc_pid_stat(5)): clock ticks since boot. The second, in brackets, may itself hold spaces.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return saidByPs(pid, 'lstart=') || undefined;
  }
}

/** Waits until the process is gone; false when it still lives after `timeoutMs`. */
export async function waitUntilGone(pid: number, timeoutMs: number): Promise<boolean> {
  const end = performance.now() + timeoutMs;
  while (isAlive(pid)) {
    if (performance.now() >= end) return false;
    await delay(20);
  }
  return true;
}

/** Sends a signal; a process that is already gone is no error. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (systemCodeOf(error) !== 'ESRCH') throw error;
  }
}

/** Sends the signals one after the other, each with its time to take effect, until the process is gone. */
export async function endProcess(
  pid: number,
  steps: readonly { readonly name: NodeJS.Signals; readonly waitMs: number }[],
): Promise<void> {
  for (const { name, waitMs } of steps) {
    signal(pid, name);
    signal(pid, 'SIGCONT'); // A frozen process hears the first one only once it runs again.
    if (await waitUntilGone(pid, waitMs)) return;
  }
}
