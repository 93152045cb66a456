import { execFile } from 'node:child_process';
import { UserError } from './user-error.ts';

/** What a program of another project printed, and its exit code. */
export interface NpxRun {
  readonly exitCode: number;
  readonly out: string;
  readonly err: string;
}

/** Runs a package by its name and exact version, in an empty folder of its own. */
export type Npx = (parameters: readonly string[]) => Promise<NpxRun>;

export interface NpxOptions {
  /** `name@version`. */
  readonly package: string;
  /** Where the program runs, and keeps what it wants to keep. */
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  /** The command instead of `npx`: a stand-in of tests. */
  readonly command?: string;
}

/** Long enough to bring a package over a slow line. */
const TIMEOUT_MS = 240_000;
const OUTPUT_MAX_BYTES = 32 * 1024 * 1024;

/**
 * Each run ends by itself or after four minutes. npm speaks of errors only, and the inspector keeps its files in the
 * folder instead of the person's home.
 * @throws UserError where there is no npx, or the program was ended by a signal.
 */
export function npx({ package: name, folder, env, command = 'npx' }: NpxOptions): Npx {
  const own = {
    npm_config_loglevel: 'error',
    npm_config_update_notifier: 'false',
    MCP_STORAGE_DIR: folder,
    MCP_CATALOG_PATH: `${folder}/catalog.json`,
    NO_COLOR: '1',
  };
  const options = {
    cwd: folder,
    env: { ...env, ...own },
    timeout: TIMEOUT_MS,
    maxBuffer: OUTPUT_MAX_BYTES,
    encoding: 'utf8',
  } as const;
  return (parameters) =>
    new Promise((done, failed) => {
      execFile(command, ['--yes', name, ...parameters], options, (error, out, err) => {
        if (error === null) return done({ exitCode: 0, out, err });
        if (typeof error.code === 'number') return done({ exitCode: error.code, out, err });
        const reason = error.killed === true ? `was ended after ${TIMEOUT_MS / 1000} s` : String(error.code);
        return failed(new UserError(`${command} ${name}: ${reason}.`, { cause: error }));
      });
    });
}

/** Brings the package before anything is judged by it. @throws UserError where npx cannot. */
export async function requirePackage(run: Npx, name: string): Promise<void> {
  const { exitCode, err } = await run(['--help']);
  if (exitCode === 0) return;
  const said = err.trim().split('\n').at(0) ?? '';
  throw new UserError(`npx could not bring ${name} (it is from the npm registry, so this needs the network): ${said}`);
}
