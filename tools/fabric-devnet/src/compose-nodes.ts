import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import { DevnetError } from './devnet-error.ts';
import type { NetworkPlan, Role } from './network-plan.ts';
import { explainOutput, wordsOf } from './run-command.ts';
import type { CommandName } from './fabric-commands.ts';

interface CommandRun {
  /** Name of the command in messages. */
  readonly title: string;
  /** Added to the base environment. */
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}

/** The programs of a network: long-running ones by role, and Fabric's commands. */
export interface Nodes {
  start(role: Role): Promise<void>;
  isRunning(role: Role): Promise<boolean>;
  /** SIGTERM first; false if it was not running. */
  end(role: Role): Promise<boolean>;
  /** SIGKILL. */
  kill(role: Role): Promise<boolean>;
  /** SIGSTOP: it keeps its connections and answers nothing. */
  freeze(role: Role): Promise<void>;
  thaw(role: Role): Promise<void>;
  /** Undefined for a container: see `docker compose logs`. */
  logFile(role: Role): string | undefined;
  /** The end of its log; empty if there is none. */
  lastOutput(role: Role): Promise<string>;
  /** The process of this role on this machine; undefined if it runs in a container or not at all. */
  pidOf(role: Role): number | undefined;
  /** Runs one of Fabric's commands and returns its output. @throws DevnetError with its last output line. */
  run(command: CommandName, parameters: readonly string[], run: CommandRun): Promise<string>;
}

export const composeFile = resolve(import.meta.dirname, '../../../docker/compose.yaml');

/** Runs `docker` with these parameters and resolves with its standard output. Rejects with DevnetError if it fails. */
export type RunDocker = (
  parameters: readonly string[],
  env: Readonly<Record<string, string>>,
  timeoutMs: number,
) => Promise<string>;

/**
 * Orderer and peers as containers of `docker/compose.yaml`. They use the host network and mount the data at the same
 * path, so that all configuration files, addresses and ports are the same as without Docker.
 */
export function composeNodes(plan: NetworkPlan, env: NodeJS.ProcessEnv, docker: RunDocker = runDocker): Nodes {
  const { data } = plan.folders;
  // One compose project per data folder, so that several networks can share an engine.
  const project = `sealgate-fabric-${createHash('sha256').update(data).digest('hex').slice(0, 8)}`;
  const composeEnv = {
    ...Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined)),
    FABRIC_DATA: data,
    // Files written by the containers must be readable and removable by this user.
    FABRIC_USER: `${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}`,
  };
  const compose = (parameters: readonly string[], timeoutMs = 60_000): Promise<string> =>
    docker(
      ['compose', '--project-name', project, '--file', composeFile, '--profile', 'fabric', ...parameters],
      composeEnv,
      timeoutMs,
    );
  const isRunning = async (role: Role): Promise<boolean> => {
    const services = await compose(['ps', '--status', 'running', '--status', 'paused', '--services']);
    return services.split('\n').includes(role);
  };
  const endBy = async (role: Role, parameters: readonly string[]): Promise<boolean> => {
    if (!(await isRunning(role))) return false;
    await compose([...parameters, role]);
    return true;
  };
  return {
    // The first start may pull images.
    start: async (role) => void (await compose(['up', '--detach', '--no-deps', role], 600_000)),
    isRunning,
    end: (role) => endBy(role, ['stop', '--timeout', '20']),
    kill: (role) => endBy(role, ['kill']),
    freeze: async (role) => void (await compose(['pause', role])),
    thaw: async (role) => void (await compose(['unpause', role])),
    logFile: () => undefined,
    lastOutput: (role) => compose(['logs', '--no-color', '--no-log-prefix', '--tail', '50', role]),
    pidOf: () => undefined,
    run: (command, parameters, { env: more = {}, timeoutMs = 600_000 }) => {
      const variables = Object.entries(more).flatMap(([name, value]) => ['--env', `${name}=${value}`]);
      return compose(['run', '--rm', '--no-TTY', ...variables, 'tools', command, ...parameters], timeoutMs);
    },
  };
}

const runDocker: RunDocker = (parameters, env, timeoutMs) =>
  new Promise((done, failed) => {
    const options = { env: { ...env }, timeout: timeoutMs, maxBuffer: 16 * 1024 * 1024 };
    execFile('docker', parameters, options, (error, stdout, stderr) => {
      if (error === null) return done(stdout);
      const said = explainOutput(wordsOf(stderr) ?? wordsOf(stdout) ?? 'no output');
      failed(new DevnetError(`docker ${parameters.slice(0, 1).join(' ')} failed: ${said}`, { cause: error }));
    });
  });
