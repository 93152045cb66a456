import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePortBase } from '@sealgate/fabric-devnet';
import { findProgram, foldersOf } from '@sealgate/local-services';
import { runTool } from './run-command.ts';
import { buildSurface } from '../surfaces/bundled.ts';
import { workspaceRoot } from '../workspace.ts';
import { runJest } from './run-jest.ts';
import { closingLine, oneFailure, sum, type Tally } from './tally.ts';

const minuteMs = 60_000;

/** The surfaces that the tests run as separate processes. */
const built = ['ledger-chaincode', 'ledger-peer', 'ingest-gateway', 'risk-partner', 'case-gate'];

/** The contract suite of the ledger port and the fault tests of the surfaces, on a running network. */
async function judge({ data, connectionFile }: FabricNetwork): Promise<Tally> {
  const env = { FABRIC_CONFIG: connectionFile, SEALGATE_FABRIC: data };
  const contract = await runJest({
    project: 'integration',
    paths: ['libs/ledger/fabric/src/real-network'],
    workers: 1,
    timeoutMs: 5 * minuteMs,
    env,
  });
  const stories = await runJest({
    project: 'e2e',
    paths: ['apps/e2e/src/fabric-real'],
    workers: 1,
    timeoutMs: 30 * minuteMs,
    env,
  });
  return sum([contract.tally, stories.tally]);
}

/** For `npm test`, after the bundles were built: one failure if no network can be started. */
export async function judgeFabric(): Promise<Tally> {
  const tally = await withFabricNetwork(judge);
  return typeof tally === 'number' ? oneFailure : tally;
}

/** `npm run test:fabric`. Returns the exit code: 2 if Fabric's commands are missing, 1 if anything failed. */
export async function runFabricChecks(parameters: readonly string[]): Promise<number> {
  if (parameters.length > 0) {
    process.stderr.write('test:fabric takes no options.\n');
    return 1;
  }
  const tally = await withFabricNetwork(async (network) => {
    for (const name of built) await buildSurface(name);
    return judge(network);
  });
  if (typeof tally === 'number') return tally;
  process.stdout.write(`\n${closingLine(tally)}\n`);
  return tally.failed === 0 ? 0 : 1;
}

const KILLS = /^[1-9]\d{0,3}$/;
const SOAK_USAGE = `Usage: npm run soak:fabric -- [kills]

  Kills processes of two ledger peers this many times (default 100, at most 9999) on a real Fabric network, at every point
  of a keyed write, and as often of a keyed action, to a contract that counts how often it is written: with the orderer frozen, with the journal locked
  while the next process asks it, and with reads that fail over to a peer that lags behind. Needs Fabric's commands. Prints
  the result as JSON. Fails for any key written twice or not at all, and any answer that says what is not so, judged from
  blocks and rows. Twice a hundred take about forty minutes.
`;

/** `npm run soak:fabric -- [kills]`. Returns the exit code, as \`runFabricChecks\`. */
export async function runFabricSoak(parameters: readonly string[]): Promise<number> {
  const [kills = '100', ...rest] = parameters;
  if (!KILLS.test(kills) || rest.length > 0) {
    process[kills === '--help' ? 'stdout' : 'stderr'].write(SOAK_USAGE);
    return kills === '--help' ? 0 : 1;
  }
  const tally = await withFabricNetwork(async ({ data, connectionFile }) => {
    await buildSurface('ledger-peer');
    const { tally: judged } = await runJest({
      project: 'e2e',
      paths: ['apps/e2e/src/fabric-real-kills'],
      workers: 1,
      timeoutMs: 6 * 60 * minuteMs,
      env: { FABRIC_CONFIG: connectionFile, SEALGATE_FABRIC: data, SEALGATE_FABRIC_KILLS: kills },
    });
    return judged;
  });
  if (typeof tally === 'number') return tally;
  return tally.failed === 0 && tally.passed > 0 ? 0 : 1;
}

/** A temporary real Fabric network. */
interface FabricNetwork {
  readonly data: string;
  /** The value of FABRIC_CONFIG. */
  readonly connectionFile: string;
}

const devnet = join(workspaceRoot, 'tools/fabric-devnet/src/main.ts');

/** Exit code of `fabric:up` without Fabric's commands. */
const MISSING_COMMANDS = 2;

/** Whether Fabric's commands are installed: Docker images are pulled only on request. */
export function hasFabricCommands(env: NodeJS.ProcessEnv): boolean {
  const own = env['FABRIC_BIN'];
  const folders = own ? [own] : foldersOf(env['PATH']);
  return ['peer', 'orderer', 'configtxgen', 'cryptogen'].every((name) => findProgram(name, folders) !== undefined);
}

/**
 * Starts a network in its own folder and on its own ports, runs the work, and stops the network in any case. Returns
 * the exit code if the network did not start (2: Fabric's commands are missing); the reason was printed.
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
