import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { explainFileError, removeCluster } from '@sealgate/local-services';
import { workspaceRoot } from '../workspace.ts';
import { UserError } from './user-error.ts';

/** The files of one installation. */
export interface DataFolder {
  readonly path: string;
  readonly lockFile: string;
  readonly secretsFile: string;
  /** Store of the development provider: refresh tokens, registered clients. */
  readonly providerFile: string;
  /** The verifier key of the log: world-readable, and present while nothing is running. */
  readonly verifierKeyFile: string;
  /** The running processes, so that orphans of a killed start can be stopped. */
  readonly runFile: string;
  /** For scripts and tools, while everything is running. */
  readonly devFile: string;
  readonly logs: string;
  /** Output of a detached start. */
  readonly startLog: string;
  readonly checkpoints: string;
  /** The ledger archive, written by `sealgate ledger archive`. */
  readonly archive: string;
  /** Example commands for every surface, including the demo keys. */
  readonly examplesFile: string;
  /** Bundles built from the sources at every start, so that the checkout can change while it is running. */
  readonly bundles: string;
  readonly postgres: string;
  readonly redis: string;
}

export function dataFolder(path: string): DataFolder {
  return {
    path,
    lockFile: join(path, 'lock.json'),
    secretsFile: join(path, 'secrets.json'),
    providerFile: join(path, 'provider.json'),
    verifierKeyFile: join(path, 'log.vkey'),
    runFile: join(path, 'run.json'),
    devFile: join(path, 'dev.json'),
    examplesFile: join(path, 'examples.txt'),
    logs: join(path, 'logs'),
    startLog: join(path, 'logs/start.log'),
    checkpoints: join(path, 'checkpoints'),
    archive: join(path, 'archive'),
    bundles: join(path, 'bundles'),
    postgres: join(path, 'postgres'),
    redis: join(path, 'redis'),
  };
}

const neededBytes = 160 * 1024 * 1024;

/**
 * Creates the folder if it is missing, and checks that it is writable. As root, other users may traverse it, because
 * PostgreSQL runs as another user; they cannot list or read anything.
 */
export function prepareDataFolder({ path, logs, checkpoints, bundles, postgres }: DataFolder): void {
  try {
    const isNew = !existsSync(path);
    for (const folder of [path, logs, checkpoints, bundles]) mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (isNew && process.getuid?.() === 0) chmodSync(path, 0o711);
    writeFileSync(join(path, '.probe'), 'x');
    rmSync(join(path, '.probe'));
  } catch (error) {
    throw explained(error, path);
  }
  const { bavail, bsize } = statfsSync(path);
  if (!existsSync(postgres) && bavail * bsize < neededBytes) {
    const mebibytes = Math.floor((bavail * bsize) / 1024 / 1024);
    throw new UserError(
      `The disk that holds ${path} is full: ${mebibytes} MiB are free and ${neededBytes / 1024 / 1024} are needed. Free some space and start again.`,
    );
  }
}

function explained(error: unknown, path: string): unknown {
  if (existsSync(path) && !statSync(path).isDirectory())
    return new UserError(`${path} is a file, not a folder. Choose another with --data.`);
  return explainFileError(error, path);
}

/** Removes only our own files: the folder may contain others. */
export function forgetData(data: DataFolder): void {
  removeCluster(data.postgres);
  const made = [
    data.secretsFile,
    data.providerFile,
    data.verifierKeyFile,
    data.runFile,
    data.devFile,
    data.checkpoints,
    data.archive,
    data.bundles,
    data.redis,
    `${data.postgres}.log`,
  ];
  try {
    for (const path of [...made, ...oldLogs(data)]) rmSync(path, { recursive: true, force: true });
  } catch (error) {
    throw explainFileError(error, data.path);
  }
}

/** All logs except the one that a detached start is writing. */
const oldLogs = ({ logs, startLog }: DataFolder): string[] =>
  readdirSync(logs)
    .map((name) => join(logs, name))
    .filter((file) => file !== startLog);

/** The default data folder. */
export const defaultData = resolve(workspaceRoot, '.sealgate');

/** `npm start` or `npm stop` with the option for this data folder. */
export function npmCommand(command: 'start' | 'stop', dataPath: string): string {
  return dataPath === defaultData ? `npm ${command}` : `npm ${command} -- --data ${quoted(dataPath)}`;
}

/** `npx sealgate` with these arguments and the option for this data folder. */
export function adminCommand(words: string, dataPath: string): string {
  const named = dataPath === defaultData ? '' : ` --dev-json ${quoted(join(dataPath, 'dev.json'))}`;
  return `npx sealgate ${words}${named}`;
}

/** A path quoted for a shell. */
export const quoted = (path: string): string => (/^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`);
