import { buildSurface } from '../surfaces/bundled.ts';
import { withFabricNetwork, type FabricNetwork } from './fabric-network.ts';
import { runJest } from './run-jest.ts';
import { closingLine, oneFailure, sum, type Tally } from './tally.ts';

const minuteMs = 60_000;

/** Everything that the stories run as a process of its own. */
const built = ['ledger-chaincode', 'ledger-peer', 'ingest-gateway'];

/** The contract suite of the ledger port and the fault stories of the surfaces, on a network that is up. */
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
    timeoutMs: 15 * minuteMs,
    env,
  });
  return sum([contract, stories]);
}

/** For `npm test`, after the bundles were made: one failure where a network cannot be had. */
export async function judgeFabric(): Promise<Tally> {
  const tally = await withFabricNetwork(judge);
  return typeof tally === 'number' ? oneFailure : tally;
}

/** `npm run test:fabric`. Gives the exit code: 2 where Fabric's commands are missing, 1 where anything failed. */
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
