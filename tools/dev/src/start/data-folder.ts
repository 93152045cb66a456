import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { explainFileError, removeCluster } from '@sealgate/local-services';
import { UserError } from './user-error.ts';

/** Where everything of one installation lies. */
export interface DataFolder {
  readonly path: string;
  readonly lockFile: string;
  readonly secretsFile: string;
  /** What the development provider remembers: refresh tokens, registered clients. */
  readonly providerFile: string;
  /** The key that the log's checkpoints are checked with: for everybody, and there while nothing runs. */
  readonly verifierKeyFile: string;
  /** Which processes run, so that what a killed start left can be ended. */
  readonly runFile: string;
  /** For scripts and tools, while everything runs. */
  readonly devFile: string;
  readonly logs: string;
  /** What a detached start says. */
  readonly startLog: string;
  readonly checkpoints: string;
  /** Of the ledger: `sealgate ledger archive` makes it. */
  readonly archive: string;
  /** Lines to copy for every surface, with the demo's keys in them. */
  readonly examplesFile: string;
  /** What runs: made from the sources at every start, so that a checkout can change while it runs. */
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
 * Makes the folder where it is missing and tries whether it can be written. Under root others may pass through it, for
 * PostgreSQL runs as another user then; they can list and read nothing.
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
      `The disk that holds ${path} is full: ${mebibytes} MiB are left and ${neededBytes / 1024 / 1024} are needed. Free some space and start again.`,
    );
  }
}

function explained(error: unknown, path: string): unknown {
  if (existsSync(path) && !statSync(path).isDirectory())
    return new UserError(`${path} is a file, not a folder. Choose another with --data.`);
  return explainFileError(error, path);
}

/** Removes what we made, and nothing else: the folder may be one that holds other things too. */
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

/** All but the log that a detached start is writing at this moment. */
const oldLogs = ({ logs, startLog }: DataFolder): string[] =>
  readdirSync(logs)
    .map((name) => join(logs, name))
    .filter((file) => file !== startLog);
