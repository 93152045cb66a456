import { createHash } from 'node:crypto';
import { chownSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { LocalServiceError, withFileErrorsExplained } from './local-service-error.ts';
import { canUse, sharedFolder, type SystemUser } from './system-user.ts';

const pointerName = 'moved-to.json';

/** Written into the requested folder if the cluster had to be placed elsewhere. */
interface Pointer {
  readonly askedFor: string;
  readonly cluster: string;
}

/**
 * The actual folder of the cluster for `requested`: that folder, or one below the shared folder if the user of
 * PostgreSQL cannot reach it (folders of root). The location is stored in the requested folder.
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

/** Deletes a cluster, wherever it is stored. The server must be stopped. */
export function removeCluster(requested: string): void {
  const directory = resolve(requested);
  withFileErrorsExplained(directory, () => {
    const pointer = readPointer(directory);
    if (pointer !== undefined && pointer.askedFor === directory)
      rmSync(pointer.cluster, { recursive: true, force: true });
    rmSync(directory, { recursive: true, force: true });
  });
}

/** The actual folder of the cluster, without creating anything; the folder itself if it was not moved. */
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
    throw new LocalServiceError(`${file} cannot be read; it records where the PostgreSQL data is stored.`, {
      cause: error,
    });
  }
  throw new LocalServiceError(`${file} is broken; it records where the PostgreSQL data is stored.`);
}

/** A moved folder keeps its cluster; a copied one does not, because two servers must not share one. */
function followPointer(directory: string, pointer: Pointer): string {
  if (pointer.askedFor === directory) return pointer.cluster;
  if (existsSync(join(pointer.askedFor, pointerName))) {
    throw new LocalServiceError(
      `${directory} is a copy of ${pointer.askedFor}, whose PostgreSQL data is in ${pointer.cluster} and is not copied with it. Start with a new folder.`,
    );
  }
  writePointer(directory, pointer.cluster);
  return pointer.cluster;
}

function usableByUser(directory: string, user: SystemUser): boolean {
  if (existsSync(directory) && readdirSync(directory).length > 0) return true; // Existing content is checked in place.
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
