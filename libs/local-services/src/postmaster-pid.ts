import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { trueDirectoryOf } from './cluster-location.ts';
import { LocalServiceError, withFileErrorsExplained } from './local-service-error.ts';
import { commandLineOf, endProcess, isAlive } from './processes.ts';

/** The pid of the PostgreSQL that runs on this cluster; undefined if none does. The pid file alone is not trusted. */
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
 * Throws if a server runs on the cluster, and removes the pid file of a killed server: PostgreSQL refuses to start if
 * another process of the same user has that pid by now.
 */
export function clearStalePidFile(clusterDirectory: string): void {
  const pid = runningPostmaster(clusterDirectory);
  if (pid !== undefined) {
    throw new LocalServiceError(`A PostgreSQL (process ${pid}) already runs on ${clusterDirectory}. Stop it first.`);
  }
  withFileErrorsExplained(clusterDirectory, () => rmSync(join(clusterDirectory, 'postmaster.pid'), { force: true }));
}

/**
 * Stops the server that a killed owner left running on this folder, after verifying that the process is that server.
 * Returns whether there was one. The caller must hold the lock on the data, so that no owner is alive.
 */
export async function stopOrphanedPostgres(requested: string): Promise<boolean> {
  const pid = runningPostmaster(trueDirectoryOf(requested));
  if (pid === undefined) return false;
  await endProcess(pid, stopSteps('fast'));
  return true;
}

/** SIGINT is a fast shutdown without waiting for clients, SIGQUIT an immediate one (recovery follows). */
export function stopSteps(mode: 'fast' | 'immediate'): { name: NodeJS.Signals; waitMs: number }[] {
  const immediate: { name: NodeJS.Signals; waitMs: number }[] = [
    { name: 'SIGQUIT', waitMs: 5_000 },
    { name: 'SIGKILL', waitMs: 5_000 },
  ];
  return mode === 'immediate' ? immediate : [{ name: 'SIGINT', waitMs: 30_000 }, ...immediate];
}
