import { createPrivateKey } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, credentials } from '@grpc/grpc-js';
import { connect, hash } from '@hyperledger/fabric-gateway';
import { down, findFabricCommands, freePortBase, MissingCommandsError, up } from '@sealgate/fabric-devnet';
import { readConnectionFile, signLowS } from '@sealgate/ledger-fabric';
import type { BenchContext, ReleaseStack } from '../bench-context.ts';

/** A real network of this run. */
export interface BenchFabric {
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
const maxMessageBytes = 100 * 1024 * 1024;

/** Number of records of a type in the channel, from the contract's own query. */
export async function countOnFabric({ connectionFile, fabricChannel }: BenchFabric, type: string): Promise<number> {
  const { peers, mspId, certFile, keyFile } = readConnectionFile(connectionFile);
  const peer = peers[0]!;
  const client = new Client(peer.endpoint, credentials.createSsl(readFileSync(peer.tlsCaFile ?? '')), {
    'grpc.max_receive_message_length': maxMessageBytes,
    'grpc.ssl_target_name_override': peer.serverNameOverride ?? '',
  });
  const key = createPrivateKey(readFileSync(keyFile));
  const gateway = connect({
    client,
    identity: { mspId, credentials: readFileSync(certFile) },
    hash: hash.none,
    signer: (message) => Promise.resolve(signLowS(key, message)),
  });
  try {
    const contract = gateway.getNetwork(fabricChannel).getContract('records');
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
    gateway.close();
    client.close();
  }
}
