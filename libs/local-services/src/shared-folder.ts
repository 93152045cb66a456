import { spawnSync } from 'node:child_process';
import { chmodSync, lstatSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LocalServiceError } from './local-service-error.ts';
import { runAs, type SystemUser } from './system-user.ts';

/** Whether `user` can enter the folder and write in it. Asked by trying: modes alone do not tell (ACLs, mounts). */
export function canUse(directory: string, user: SystemUser, access: 'enter' | 'write'): boolean {
  const probe = access === 'enter' ? 'cd "$0"' : 'cd "$0" && : > .probe && rm .probe';
  const result = spawnSync('/bin/sh', ['-c', probe, directory], {
    ...runAs(user),
    stdio: 'ignore',
    cwd: '/',
    timeout: 10_000,
  });
  return result.status === 0;
}

/**
 * A folder that root owns and alone can write, and that `user` can enter. It holds what PostgreSQL needs where the
 * checkout itself is out of that user's reach. A folder that somebody else made first is never trusted: programs are
 * started out of it.
 */
export function sharedFolder(user: SystemUser, candidates = defaultCandidates()): string {
  for (const directory of candidates) {
    if (prepare(directory) && canUse(directory, user, 'enter')) return directory;
  }
  throw new LocalServiceError(
    `PostgreSQL runs as the user ${user.name}, and none of ${candidates.join(', ')} can be made for it. Free one of them, or run as another user than root.`,
  );
}

const defaultCandidates = (): string[] => ['/var/lib/sealgate', join(tmpdir(), 'sealgate-of-root')];

function prepare(directory: string): boolean {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o711 });
    const found = lstatSync(directory);
    if (!found.isDirectory() || found.uid !== 0) return false;
    chmodSync(directory, 0o711);
    return true;
  } catch {
    return false; // A candidate that cannot be made is passed over; the caller tells when none is left.
  }
}
