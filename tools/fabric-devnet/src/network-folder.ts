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
import { DevnetError } from './devnet-error.ts';
import { contractNames, type ContractName, type NetworkSettings } from './network-plan.ts';

/** What a data folder remembers of its network: `network.json`. */
export interface NetworkMemory extends NetworkSettings {
  readonly inDocker: boolean;
  /** False while a start is under way, and after one that did not come to its end. */
  readonly isComplete: boolean;
  /** Absolute path of the program of each contract. */
  readonly programs: Readonly<Partial<Record<ContractName, string>>>;
  /** Ids of the transactions differ, but a network made by another version of this tool may be laid out otherwise. */
  readonly format: number;
}

const format = 1;
const fileIn = (data: string): string => join(data, 'network.json');

/** Undefined where no network was made in the folder. Throws DevnetError when what it remembers is broken. */
export function readMemory(data: string): NetworkMemory | undefined {
  const file = fileIn(data);
  if (!existsSync(file)) return undefined;
  const broken = (cause?: unknown): DevnetError =>
    new DevnetError(`${file} is broken. Make the network anew: npm run fabric:up -- --fresh.`, { cause });
  let value: Record<string, unknown>;
  try {
    value = JSON.parse(readFileSync(file, 'utf8'));
  } catch (cause) {
    throw broken(cause);
  }
  const { portBase, batchTimeoutMs, inDocker, isComplete, programs } = value ?? {};
  if (value?.['format'] !== format)
    throw new DevnetError(`${data} holds a network of another version. Make it anew: npm run fabric:up -- --fresh.`);
  if (typeof portBase !== 'number' || typeof batchTimeoutMs !== 'number' || typeof inDocker !== 'boolean')
    throw broken();
  if (typeof programs !== 'object' || programs === null) throw broken();
  const named = contractNames.flatMap((name) => {
    const program = Object.getOwnPropertyDescriptor(programs, name)?.value;
    return typeof program === 'string' ? [[name, program]] : [];
  });
  return {
    portBase,
    batchTimeoutMs,
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

/** What a new network takes (the orderer's write-ahead log takes 64 MiB for each channel at once), with room to write in. */
const neededBytes = 256 * 1024 * 1024;

/**
 * Makes the folder. Throws DevnetError where it holds something that is not a network's, which is not ours to fill or
 * to remove, or where the disk has no room for a new one; LocalServiceError where it cannot be written.
 */
export function takeFolder(data: string): void {
  makeFolder(data);
  const strange = readdirSync(data).filter((name) => !/^(lock|network\.json)(\.|$)/.test(name));
  const isNew = !existsSync(fileIn(data));
  if (isNew && strange.length > 0)
    throw new DevnetError(
      `${data} holds something else (${strange.slice(0, 3).join(', ')}). Choose another folder with --data.`,
    );
  writeFileSync(join(data, 'lock.try'), 'x');
  rmSync(join(data, 'lock.try'));
  const { bavail, bsize } = statfsSync(data);
  if (isNew && bavail * bsize < neededBytes)
    throw new DevnetError(
      `The disk that holds ${data} is full: ${mebibytes(bavail * bsize)} MiB are left and ${mebibytes(neededBytes)} are needed.`,
    );
}

const mebibytes = (bytes: number): number => Math.floor(bytes / 1024 / 1024);

/** Folder by folder: made in one go, Node says ENOENT of a read-only file system. Only the last one is ours alone. */
function makeFolder(folder: string, mode = 0o700): void {
  if (existsSync(folder)) {
    if (!statSync(folder).isDirectory())
      throw new DevnetError(`${folder} is a file, not a folder. Choose another with --data.`);
    return;
  }
  makeFolder(dirname(folder), 0o777);
  mkdirSync(folder, { mode });
}

/** Removes all that lies in it but the lock. */
export function emptyFolder(data: string): void {
  // What says that the folder is a network's goes last: a removal that is cut short can be done again.
  const names = readdirSync(data).filter((name) => name !== 'lock' && name !== 'network.json');
  for (const name of [...names, 'network.json']) rmSync(join(data, name), { recursive: true, force: true });
}
