import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findProgram, foldersOf, isPortFree } from '@sealgate/local-services';
import { runTool } from '../run-tool.ts';
import { workspaceRoot } from '../workspace.ts';

/** A real Fabric network of one run: where it lies, and what a client of it is given. */
export interface FabricNetwork {
  readonly data: string;
  /** As FABRIC_CONFIG names it. */
  readonly connectionFile: string;
}

const devnet = join(workspaceRoot, 'tools/fabric-devnet/src/main.ts');

/** The farthest port of a network from its base; see tools/fabric-devnet. */
const HIGHEST_OFFSET = 25;
const TRIES = 50;
/** What `fabric:up` ends with when there is nothing to start a network with. */
const MISSING_COMMANDS = 2;

/** Whether Fabric's commands are files on this machine: an image is pulled only for who asks for a network. */
export function hasFabricCommands(env: NodeJS.ProcessEnv): boolean {
  const own = env['FABRIC_BIN'];
  const folders = own ? [own] : foldersOf(env['PATH']);
  return ['peer', 'orderer', 'configtxgen', 'cryptogen'].every((name) => findProgram(name, folders) !== undefined);
}

/**
 * Brings a network up in a folder and on ports of its own, runs the work, and takes it down, whatever became of the
 * work. A number is the exit code of a network that did not come up: 2 where Fabric's commands are missing. Why is told
 * by then.
 */
export async function withFabricNetwork<Result>(
  work: (network: FabricNetwork) => Promise<Result>,
): Promise<Result | number> {
  const folder = mkdtempSync(join(tmpdir(), 'sealgate-fabric-'));
  const data = join(folder, 'network');
  let code = MISSING_COMMANDS;
  try {
    const base = ['--data', data, '--port-base', String(await freePortBase())];
    code = await runTool(devnet, ['up', ...base, '--with-basic']);
    if (code !== 0) return code;
    return await work({ data, connectionFile: join(data, 'connection.json') });
  } finally {
    if (code !== MISSING_COMMANDS) await runTool(devnet, ['down', '--data', data]);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Below the ports that systems give to outgoing connections, and away from where a person has his own network. */
async function freePortBase(): Promise<number> {
  const offsets = Array.from({ length: HIGHEST_OFFSET }, (_, index) => index + 1);
  for (let left = TRIES; left > 0; left -= 1) {
    const base = 12_000 + Math.floor(Math.random() * 600) * 30;
    const free = await Promise.all(offsets.map((offset) => isPortFree(base + offset)));
    if (free.every(Boolean)) return base;
  }
  throw new Error(`None of ${TRIES} ranges of ports is free.`);
}
