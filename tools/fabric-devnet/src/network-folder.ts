import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { systemCodeOf, takeLockFile } from '@sealgate/local-services';
import { DevnetError } from './devnet-error.ts';
import type { ContractPrograms, NetworkSettings } from './network-plan.ts';

/** Settings and state of the network in a data folder: `network.json`. */
export interface NetworkMemory extends NetworkSettings {
  readonly inDocker: boolean;
  /** False during a start, and after one that failed or was interrupted. */
  readonly isComplete: boolean;
  readonly programs: ContractPrograms;
  /** Version of the layout of the data folder. */
  readonly format: number;
}

const format = 1;
const fileIn = (data: string): string => join(data, 'network.json');

/** Undefined if there is no network in the folder. @throws DevnetError if network.json is invalid. */
export function readMemory(data: string): NetworkMemory | undefined {
  const file = fileIn(data);
  if (!existsSync(file)) return undefined;
  const broken = (cause?: unknown): DevnetError =>
    new DevnetError(`${file} is broken. Recreate the network: npm run fabric:up -- --fresh.`, { cause });
  let value: Record<string, unknown>;
  try {
    value = JSON.parse(readFileSync(file, 'utf8'));
  } catch (cause) {
    throw broken(cause);
  }
  const { portBase, batchTimeoutMs, organizations, mutualTls, inDocker, isComplete, programs } = value ?? {};
  if (value?.['format'] !== format)
    throw new DevnetError(`${data} holds a network of another version. Recreate it: npm run fabric:up -- --fresh.`);
  if (typeof portBase !== 'number' || typeof batchTimeoutMs !== 'number' || typeof inDocker !== 'boolean')
    throw broken();
  if (typeof programs !== 'object' || programs === null) throw broken();
  const named = Object.entries(programs).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return {
    portBase,
    batchTimeoutMs,
    organizations: organizations === 3 ? 3 : 2,
    mutualTls: mutualTls === true,
    inDocker,
    isComplete: isComplete === true,
    programs: Object.fromEntries(named),
    format,
  };
}

export function writeMemory(data: string, memory: Omit<NetworkMemory, 'format'>): void {
  writeFileSync(`${fileIn(data)}.new`, `${JSON.stringify({ format, ...memory }, undefined, 2)}\n`, { mode: 0o600 });
  renameSync(`${fileIn(data)}.new`, fileIn(data));
}

/** Disk space for a new network: the orderer preallocates 64 MiB of write-ahead log per channel. */
const neededBytes = 256 * 1024 * 1024;

/**
 * Creates the folder. Throws DevnetError if it holds files that are not a network's, or if the disk has no space for a
 * new one; LocalServiceError if it cannot be written.
 */
export function takeFolder(data: string): void {
  makeFolder(data);
  const strange = readdirSync(data).filter((name) => !/^(lock|network\.json)(\.|$)/.test(name));
  const isNew = !existsSync(fileIn(data));
  if (isNew && strange.length > 0)
    throw new DevnetError(
      `${data} holds other files (${strange.slice(0, 3).join(', ')}). Choose another folder with --data.`,
    );
  writeFileSync(join(data, 'lock.try'), 'x');
  rmSync(join(data, 'lock.try'));
  const { bavail, bsize } = statfsSync(data);
  if (isNew && bavail * bsize < neededBytes)
    throw new DevnetError(
      `The disk that holds ${data} is full: ${mebibytes(bavail * bsize)} MiB are free and ${mebibytes(neededBytes)} are needed.`,
    );
}

const mebibytes = (bytes: number): number => Math.floor(bytes / 1024 / 1024);

/**
 * Creates parents one by one: with `recursive`, Node reports ENOENT for a read-only file system. Only the last is
 * private.
 */
function makeFolder(folder: string, mode = 0o700): void {
  if (existsSync(folder)) {
    if (!statSync(folder).isDirectory())
      throw new DevnetError(`${folder} is a file, not a folder. Choose another with --data.`);
    return;
  }
  makeFolder(dirname(folder), 0o777);
  mkdirSync(folder, { mode });
}

/** Removes everything except the lock. */
export function emptyFolder(data: string): void {
  // network.json goes last: it identifies the folder, so that an interrupted removal can be repeated.
  const names = readdirSync(data).filter((name) => name !== 'lock' && name !== 'network.json');
  for (const name of [...names, 'network.json']) rmSync(join(data, name), { recursive: true, force: true });
}

/**
 * Runs `work` while holding the lock of a data folder. Throws DevnetError if another up or down holds it. With
 * `evenIfFull` the work runs without a lock if the disk is full or read-only: stopping must still be possible.
 */
export async function locked<T>(
  lockFile: string,
  work: () => Promise<T>,
  { evenIfFull = false }: { readonly evenIfFull?: boolean } = {},
): Promise<T> {
  try {
    take(lockFile);
  } catch (error) {
    if (!evenIfFull || !['ENOSPC', 'EDQUOT', 'EROFS'].includes(systemCodeOf(error) ?? '')) throw error;
  }
  try {
    return await work();
  } finally {
    rmSync(lockFile, { force: true });
  }
}

function take(lockFile: string): void {
  const result = takeLockFile(lockFile);
  if (result.taken) return;
  const process = result.holder === undefined ? '' : ` (process ${result.holder})`;
  throw new DevnetError(`Another fabric:up or fabric:down${process} is running on this network; wait for it to end.`);
}
