import { readFileSync } from 'node:fs';
import { LocalServiceError } from './local-service-error.ts';

/** The user a server runs as. Undefined in the code that takes it means: as whoever we are. */
export interface SystemUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** Tried in this order. PostgreSQL's initdb looks its user up in /etc/passwd, so a bare number will not do. */
const candidates = ['postgres', 'nobody', 'daemon', 'www-data'];

/**
 * PostgreSQL refuses to run as root, so under root it runs as a user that exists already.
 * Undefined when we are not root. Throws LocalServiceError when root finds nobody to run it as.
 */
export function postgresUser(passwdFile = '/etc/passwd'): SystemUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const users = new Map(readPasswd(passwdFile).map((user) => [user.name, user]));
  for (const name of candidates) {
    const user = users.get(name);
    if (user !== undefined && user.uid !== 0) return user;
  }
  throw new LocalServiceError(
    `PostgreSQL does not run as root, and none of the users ${candidates.join(', ')} is in ${passwdFile}. Add one, or run as another user.`,
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
