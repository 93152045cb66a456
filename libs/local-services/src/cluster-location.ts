import { createHash } from 'node:crypto';
import { chownSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { LocalServiceError, withFileErrorsExplained } from './local-service-error.ts';
import { canUse, sharedFolder } from './shared-folder.ts';
import type { SystemUser } from './system-user.ts';

const pointerName = 'moved-to.json';

/** Written into the folder asked for, when the cluster had to be put elsewhere. */
interface Pointer {
  readonly askedFor: string;
  readonly cluster: string;
}

/**
 * Where the cluster for the folder `requested` truly lies: there, or, when the user that PostgreSQL runs as cannot
 * get there (root's own folders), below a folder of its own. The place is remembered in the folder asked for.
 */
export function locateCluster(requested: string, user: SystemUser | undefined): string {
  const directory = resolve(requested);
  return withFileErrorsExplained(directory, () => {
    mkdirSync(dirname(directory), { recursive: true });
    const pointer = readPointer(directory);
    if (pointer !== undefined) return followPointer(directory, pointer);
    if (user === undefined || existsSync(join(directory, 'PG_VERSION'))) return directory;
    return usableByUser(directory, user) ? directory : placeElsewhere(directory, user);
  });
}

/** Forgets a cluster for good, wherever it lies. The server must be stopped. */
export function removeCluster(requested: string): void {
  const directory = resolve(requested);
  withFileErrorsExplained(directory, () => {
    const pointer = readPointer(directory);
    if (pointer !== undefined && pointer.askedFor === directory)
      rmSync(pointer.cluster, { recursive: true, force: true });
    rmSync(directory, { recursive: true, force: true });
  });
}

/** Where the cluster of this folder lies now, for whoever only looks; the folder itself when it was not moved. */
export function trueDirectoryOf(requested: string): string {
  const directory = resolve(requested);
  return readPointer(directory)?.cluster ?? directory;
}

function readPointer(directory: string): Pointer | undefined {
  const file = join(directory, pointerName);
  if (!existsSync(file)) return undefined;
  try {
    const { askedFor, cluster }: Partial<Pointer> = JSON.parse(readFileSync(file, 'utf8'));
    if (typeof askedFor === 'string' && typeof cluster === 'string') return { askedFor, cluster };
  } catch (error) {
    throw new LocalServiceError(`${file} cannot be read; it tells where the PostgreSQL data lies.`, { cause: error });
  }
  throw new LocalServiceError(`${file} is broken; it tells where the PostgreSQL data lies.`);
}

/** A folder that was moved keeps its cluster; one that was copied does not, for two servers may never share one. */
function followPointer(directory: string, pointer: Pointer): string {
  if (pointer.askedFor === directory) return pointer.cluster;
  if (existsSync(join(pointer.askedFor, pointerName))) {
    throw new LocalServiceError(
      `${directory} is a copy of ${pointer.askedFor}, whose PostgreSQL data lies in ${pointer.cluster} and is not copied with it. Start with a new folder.`,
    );
  }
  writePointer(directory, pointer.cluster);
  return pointer.cluster;
}

function usableByUser(directory: string, user: SystemUser): boolean {
  if (existsSync(directory) && readdirSync(directory).length > 0) return true; // Whatever it is, it is judged where it lies.
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  chownSync(directory, user.uid, user.gid);
  return canUse(directory, user, 'write');
}

function placeElsewhere(directory: string, user: SystemUser): string {
  const name = createHash('sha256').update(directory).digest('hex').slice(0, 16);
  const cluster = join(sharedFolder(user), 'clusters', name);
  mkdirSync(dirname(cluster), { recursive: true, mode: 0o711 });
  chownSync(directory, 0, 0);
  writePointer(directory, cluster);
  return cluster;
}

function writePointer(directory: string, cluster: string): void {
  const pointer: Pointer = { askedFor: directory, cluster };
  writeFileSync(join(directory, pointerName), `${JSON.stringify(pointer)}\n`, { mode: 0o600 });
}
