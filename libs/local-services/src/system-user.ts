import { spawnSync } from 'node:child_process';
import { chmodSync, lstatSync, mkdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LocalServiceError } from './local-service-error.ts';

/** The user a server runs as; undefined stands for the current user. */
export interface SystemUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** In order of preference. initdb looks its user up in /etc/passwd, so a bare uid does not work. */
const userNames = ['postgres', 'nobody', 'daemon', 'www-data'];

/**
 * PostgreSQL refuses to run as root, so under root it runs as an existing user; undefined if this process is not root.
 * @throws LocalServiceError if none of those users exists.
 */
export function postgresUser(passwdFile = '/etc/passwd'): SystemUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const users = new Map(readPasswd(passwdFile).map((user) => [user.name, user]));
  for (const name of userNames) {
    const user = users.get(name);
    if (user !== undefined && user.uid !== 0) return user;
  }
  throw new LocalServiceError(
    `PostgreSQL does not run as root, and none of the users ${userNames.join(', ')} is in ${passwdFile}. Add one, or run as another user.`,
  );
}

function readPasswd(file: string): SystemUser[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .filter((fields) => fields.length >= 4)
    .map(([name = '', , uid, gid]) => ({ name, uid: Number(uid), gid: Number(gid) }));
}

/** The spawn options that make a child run as `user`. */
export function runAs(user: SystemUser | undefined): { uid?: number; gid?: number } {
  return user === undefined ? {} : { uid: user.uid, gid: user.gid };
}

/** Whether `user` can enter, or write to, the folder. Tested by trying: modes are not sufficient (ACLs, mounts). */
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
 * A folder that only root can write and `user` can enter, for programs and data of PostgreSQL if that user cannot reach
 * the checkout. A folder created by another user is never trusted: programs are started from it.
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
    return false; // The next candidate is tried; the caller throws if none is left.
  }
}
