import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { trueDirectoryOf } from './cluster-location.ts';
import { LocalServiceError, withFileErrorsExplained } from './local-service-error.ts';
import { commandLineOf, endProcess, isAlive } from './processes.ts';

/** The id of the PostgreSQL that runs on this cluster now; undefined when none does. The pid file alone proves nothing. */
function runningPostmaster(clusterDirectory: string): number | undefined {
  const file = join(clusterDirectory, 'postmaster.pid');
  const pid = withFileErrorsExplained(clusterDirectory, () =>
    existsSync(file) ? Number(readFileSync(file, 'utf8').split('\n', 1)[0]) : Number.NaN,
  );
  if (!Number.isInteger(pid) || pid <= 1 || !isAlive(pid)) return undefined;
  const command = commandLineOf(pid);
  return command.includes('postgres') && command.includes(clusterDirectory) ? pid : undefined;
}

/**
 * Refuses a cluster that has a server, and removes the pid file that a killed server left: PostgreSQL itself would
 * refuse to start if by now another process of the same user has that id.
 */
export function clearStalePidFile(clusterDirectory: string): void {
  const pid = runningPostmaster(clusterDirectory);
  if (pid !== undefined) {
    throw new LocalServiceError(`A PostgreSQL (process ${pid}) already runs on ${clusterDirectory}. Stop it first.`);
  }
  withFileErrorsExplained(clusterDirectory, () => rmSync(join(clusterDirectory, 'postmaster.pid'), { force: true }));
}

/**
 * Stops the server that a killed owner left behind on this folder, after checking that the process truly is that
 * server. True when there was one. The caller must know that no owner lives: it holds the lock on the data.
 */
export async function stopOrphanedPostgres(requested: string): Promise<boolean> {
  const pid = runningPostmaster(trueDirectoryOf(requested));
  if (pid === undefined) return false;
  await endProcess(pid, stopSteps('fast'));
  return true;
}

/** SIGINT asks for a clean end without waiting for clients, SIGQUIT for an end at once (recovery follows). */
export function stopSteps(mode: 'fast' | 'immediate'): { name: NodeJS.Signals; waitMs: number }[] {
  const immediate: { name: NodeJS.Signals; waitMs: number }[] = [
    { name: 'SIGQUIT', waitMs: 5_000 },
    { name: 'SIGKILL', waitMs: 5_000 },
  ];
  return mode === 'immediate' ? immediate : [{ name: 'SIGINT', waitMs: 30_000 }, ...immediate];
}
