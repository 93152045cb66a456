import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { explainFileError, LocalServiceError, withFileErrorsExplained } from './local-service-error.ts';
import type { PostgresBinaries } from './postgres-binaries.ts';
import { runAs, type SystemUser } from './system-user.ts';

const passwordFile = 'superuser-password';
const initdbTimeoutMs = 120_000;

interface ClusterOptions {
  readonly directory: string;
  readonly binaries: PostgresBinaries;
  readonly user: SystemUser | undefined;
  readonly sync: boolean;
  readonly log: (line: string) => void;
}

/** Creates the cluster or checks the existing one, and returns the superuser's password. */
export async function prepareCluster(options: ClusterOptions): Promise<string> {
  const { directory, binaries } = options;
  const version = clusterVersion(directory);
  if (version === undefined) {
    options.log(`Creating a new PostgreSQL ${binaries.major} cluster in ${directory}`);
    await makeCluster(options);
  } else if (version !== String(binaries.major)) {
    throw new LocalServiceError(
      `The data in ${directory} was made by PostgreSQL ${version}, and this is PostgreSQL ${binaries.major}. Start with a new folder, or with the version that made it.`,
    );
  }
  return readPassword(directory);
}

function clusterVersion(directory: string): string | undefined {
  return withFileErrorsExplained(directory, () => {
    const file = join(directory, 'PG_VERSION');
    if (existsSync(file)) return readFileSync(file, 'utf8').trim();
    if (existsSync(directory) && readdirSync(directory).length > 0) {
      throw new LocalServiceError(
        `The folder ${directory} is not empty and holds no PostgreSQL cluster. Choose another folder, or empty it.`,
      );
    }
    return undefined;
  });
}

/** Created next to its final path and renamed, so that an interrupted start never leaves half a cluster. */
async function makeCluster(options: ClusterOptions): Promise<void> {
  const { directory, user } = options;
  const temporary = `${directory}.new`;
  try {
    rmSync(temporary, { recursive: true, force: true });
    mkdirSync(temporary, { recursive: true, mode: 0o700 });
    const password = randomBytes(24).toString('base64url');
    const secret = `${temporary}.password`;
    writeFileSync(secret, password, { mode: 0o600 });
    if (user !== undefined) for (const path of [temporary, secret]) chownSync(path, user.uid, user.gid);
    try {
      await initdb(options, temporary, secret);
    } finally {
      rmSync(secret, { force: true });
    }
    writeFileSync(join(temporary, passwordFile), password, { mode: 0o600 });
    renameSync(temporary, directory);
  } catch (error) {
    rmSync(temporary, { recursive: true, force: true });
    throw explainFileError(error, directory);
  }
}

/** The password is random and long, so one SCRAM iteration is enough and keeps connecting cheap. */
const initdbArguments = ['--username=postgres', '--auth=scram-sha-256', '--encoding=UTF8', '--locale=C'];
/** Arguments by the major version that introduced them. */
const newerArguments: readonly (readonly [major: number, argument: string])[] = [
  [16, '--set=scram_iterations=1'],
  [17, '--locale-provider=builtin'],
  [17, '--builtin-locale=C.UTF-8'],
];

function initdb(options: ClusterOptions, temporary: string, secret: string): Promise<void> {
  const { directory, binaries, user, sync } = options;
  const newer = newerArguments.filter(([major]) => binaries.major >= major).map(([, argument]) => argument);
  const parameters = [
    ...initdbArguments,
    ...newer,
    `--pgdata=${temporary}`,
    `--pwfile=${secret}`,
    ...(sync ? [] : ['--no-sync']),
  ];
  return new Promise((resolve, reject) => {
    const child = spawn(binaries.initdb, parameters, {
      ...runAs(user),
      cwd: '/',
      env: { ...process.env, LC_ALL: 'C' },
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: initdbTimeoutMs,
    });
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => (said = (said + chunk.toString('utf8')).slice(-8_192)));
    child.on('error', reject);
    child.on('close', (code) => (code === 0 ? resolve() : reject(initdbFault(directory, said, code))));
  });
}

function initdbFault(directory: string, said: string, code: number | null): LocalServiceError {
  if (/no space left|disk full/i.test(said)) {
    return new LocalServiceError(`The disk that holds ${directory} is full. Free some space and start again.`);
  }
  const reason =
    said.split('\n').find((line) => /error|fatal|panic/i.test(line)) ?? `initdb ended with ${code ?? 'a signal'}`;
  return new LocalServiceError(`PostgreSQL could not make its data folder ${directory}: ${reason.trim()}`);
}

function readPassword(directory: string): string {
  const file = join(directory, passwordFile);
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw new LocalServiceError(`The data folder ${directory} is broken: its file ${passwordFile} cannot be read.`, {
      cause: error,
    });
  }
}
