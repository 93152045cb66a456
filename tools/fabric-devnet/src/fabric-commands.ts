import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { findProgram, foldersOf } from '@sealgate/local-services';
import { MissingCommandsError } from './devnet-error.ts';

export const commandNames = ['peer', 'orderer', 'configtxgen', 'cryptogen'] as const;
export type CommandName = (typeof commandNames)[number];

/** Source of Fabric's programs: files on this machine, or the images of `docker/compose.yaml`. */
export type FabricCommands =
  { readonly from: 'files'; readonly files: Readonly<Record<CommandName, string>> } | { readonly from: 'docker' };

const howToGetThem =
  'Put Fabric 2.5 on the PATH, or set FABRIC_BIN to its folder ' +
  '(`curl -sSL https://raw.githubusercontent.com/hyperledger/fabric/main/scripts/install-fabric.sh | bash -s -- --fabric-version 2.5.16 binary` installs it to ./bin), ' +
  'or start a Docker engine.';

interface Environment {
  readonly env: NodeJS.ProcessEnv;
  /** Whether a Docker engine with `docker compose` answers; checked only if commands are missing. */
  readonly hasDocker: () => Promise<boolean>;
}

/**
 * Finds Fabric's commands in FABRIC_BIN, else on the PATH, else in Docker.
 * @throws MissingCommandsError, which lists the missing commands and how to get them.
 */
export async function findFabricCommands({ env, hasDocker }: Environment): Promise<FabricCommands> {
  const own = env['FABRIC_BIN'];
  const folders = own ? [resolve(own)] : foldersOf(env['PATH']);
  const found = commandNames.map((name) => [name, findProgram(name, folders)] as const);
  const missing = found.filter(([, file]) => file === undefined).map(([name]) => name);
  if (missing.length === 0) return { from: 'files', files: Object.fromEntries(found) as Record<CommandName, string> };
  // With FABRIC_BIN there is no fallback to Docker: an image may have another version.
  if (own) throw new MissingCommandsError(`FABRIC_BIN (${own}) lacks ${missing.join(', ')}. ${howToGetThem}`);
  if (await hasDocker()) return { from: 'docker' };
  throw new MissingCommandsError(
    `Fabric's commands (${missing.join(', ')}) are not on the PATH and no Docker engine answers. ${howToGetThem}`,
  );
}

/** Checks the engine and the compose plugin: the `docker` command may be installed without either. */
export async function hasDockerEngine(): Promise<boolean> {
  return (await succeeds('docker', ['info'])) && (await succeeds('docker', ['compose', 'version']));
}

function succeeds(program: string, parameters: readonly string[]): Promise<boolean> {
  return new Promise((done) => {
    execFile(program, parameters, { timeout: 10_000 }, (error) => done(error === null));
  });
}
