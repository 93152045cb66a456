import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { down, findFabricCommands, freePortBase, MissingCommandsError, up } from '@sealgate/fabric-devnet';
import type { BenchContext, ReleaseStack } from '../bench-context.ts';
import { openContract } from '../servers/fabric-contract.ts';

/** A real network of this run. */
interface BenchFabric {
  readonly connectionFile: string;
  /** The channel that requires the endorsement of both organisations. */
  readonly fabricChannel: 'both';
  /** A sentence for the report about it. */
  readonly says: string;
}

/** Fabric's default is two seconds, with which every client would only wait. */
const batchTimeoutMs = 50;

const patience = { endorse: 30_000, submit: 30_000, commitStatus: 30_000, answer: 60_000 };

/** Starts a network for this run; without Fabric's commands it reports what is missing. Docker is not measured. */
export async function fabricForBench(
  context: BenchContext,
  stack: ReleaseStack,
): Promise<BenchFabric | { readonly missing: string }> {
  try {
    await findFabricCommands({ env: process.env, hasDocker: () => Promise.resolve(false) });
  } catch (error) {
    if (!(error instanceof MissingCommandsError)) throw error;
    return { missing: `There was no Fabric network to measure on: ${error.message}` };
  }
  const data = join(context.folder, 'fabric');
  stack.own('the Fabric network', async () => void (await down({ data, env: process.env })));
  context.tell('Starting a Fabric network');
  const portBase = await freePortBase();
  await up({ data, portBase, batchTimeoutMs, env: process.env, now: Date.now, tell: context.tell });
  return {
    connectionFile: patientConnection(data),
    fabricChannel: 'both',
    says: `A real Fabric network of two organisations on this machine, sharing its cores: TLS, both endorse, blocks cut after ${batchTimeoutMs} ms.`,
  };
}

/**
 * The network's connection file, with timeouts for two hundred concurrent transactions of a hundred assets, which the
 * contracts process on a few cores: the throughput is measured, not which client times out first. Fabric's client has
 * no deadlines.
 */
function patientConnection(data: string): string {
  const file = join(data, 'connection.bench.json');
  const connection: object = JSON.parse(readFileSync(join(data, 'connection.json'), 'utf8'));
  writeFileSync(file, JSON.stringify({ ...connection, deadlinesMs: patience }));
  return file;
}

const pageSize = 1000;

/** Number of records of a type in the channel, from the contract's own query. */
export async function countOnFabric(network: BenchFabric, type: string): Promise<number> {
  const { contract, close } = openContract(network.connectionFile, network.fabricChannel);
  try {
    let count = 0;
    let bookmark = '';
    do {
      const answer = await contract.evaluateTransaction('queryByType', type, String(pageSize), bookmark);
      const page: { records: unknown[]; bookmark: string } = JSON.parse(Buffer.from(answer).toString('utf8'));
      count += page.records.length;
      bookmark = page.bookmark;
    } while (bookmark !== '');
    return count;
  } finally {
    close();
  }
}
