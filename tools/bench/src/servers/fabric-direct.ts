import { createPrivateKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Client, credentials } from '@grpc/grpc-js';
import { connect, hash, signers, type ConnectOptions } from '@hyperledger/fabric-gateway';
import {
  fabricMigrations,
  openFabric,
  readConnectionFile,
  signLowS,
  type FabricConnection,
} from '@sealgate/ledger-fabric';
import { migrate, openDatabase } from '@sealgate/storage';
import { LatencyHistogram } from '../latency-histogram.ts';
import type { DirectAnswer, DirectPlan, DirectResult } from './fabric-direct-plan.ts';

/**
 * The yardstick of the ledger peer: Fabric's own client, or the driver without HTTP, with a number of transactions in
 * flight. A process of its own, so that its costs are separate; it ends with its parent.
 */
process.on('message', (plan: DirectPlan) => {
  run(plan).then(
    (result) => answer({ result }),
    (error: unknown) => answer({ problem: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
  );
});
process.on('disconnect', () => process.exit(0));
process.on('SIGINT', () => undefined);

const answer = (message: DirectAnswer): void => void process.send?.(message);
const maxMessageBytes = 100 * 1024 * 1024;
const databaseLimits = { maxConnections: 6, connectTimeoutMs: 2_000, deadlineMs: 5_000 };

async function run(plan: DirectPlan): Promise<DirectResult> {
  const writer = plan.kind === 'driver' ? await driverOf(plan) : gatewayClientOf(plan, plan.kind);
  try {
    return await load(plan, writer.write);
  } finally {
    await writer.close();
  }
}

interface Writer {
  /** Resolves when the transaction is in a block and valid. */
  readonly write: (text: string) => Promise<unknown>;
  readonly close: () => void | Promise<void>;
}

const call = { chaincode: 'records', transaction: 'createMany' };

/** The gateway client as its guide shows, each transaction waiting for its commit status. */
function gatewayClientOf({ connectionFile, fabricChannel }: DirectPlan, signing: 'sdk' | 'native'): Writer {
  const connection = readConnectionFile(connectionFile);
  const client = clientOf(connection);
  const gateway = connect({ client, ...identityOf(connection, signing) });
  const contract = gateway.getNetwork(fabricChannel).getContract(call.chaincode);
  return {
    write: async (text) => {
      const submitted = await contract.submitAsync(call.transaction, { arguments: [text] });
      const { successful, code } = await submitted.getStatus();
      if (!successful) throw new Error(`The transaction ended with code ${code}.`);
    },
    close: () => {
      gateway.close();
      client.close();
    },
  };
}

/** The driver as the ledger peer opens it, with a journal of its own. */
async function driverOf({ connectionFile, fabricChannel, databaseUrl: url }: DirectPlan): Promise<Writer> {
  const schema = 'bench_driver';
  await migrate({ url, sets: [fabricMigrations(schema)] });
  const sql = openDatabase({ url, applicationName: schema, ...databaseLimits });
  const client = openFabric({
    connection: readConnectionFile(connectionFile),
    journal: { sql, schema },
    now: Date.now,
  });
  return {
    write: (text) => client.submit({ ...call, channel: fabricChannel, args: [text] }),
    close: async () => {
      await client.close();
      await sql.close();
    },
  };
}

function clientOf({ peers }: FabricConnection): Client {
  const peer = peers[0]!;
  const security =
    peer.tlsCaFile === undefined ? credentials.createInsecure() : credentials.createSsl(readFileSync(peer.tlsCaFile));
  return new Client(peer.endpoint, security, {
    'grpc.max_receive_message_length': maxMessageBytes,
    'grpc.max_send_message_length': maxMessageBytes,
    ...(peer.serverNameOverride === undefined ? {} : { 'grpc.ssl_target_name_override': peer.serverNameOverride }),
  });
}

function identityOf({ mspId, certFile, keyFile }: FabricConnection, signing: 'sdk' | 'native') {
  const key = createPrivateKey(readFileSync(keyFile));
  const native: Pick<ConnectOptions, 'hash' | 'signer'> = {
    hash: hash.none,
    signer: (message) => Promise.resolve(signLowS(key, message)),
  };
  return {
    identity: { mspId, credentials: readFileSync(certFile) },
    ...(signing === 'native' ? native : { hash: hash.sha256, signer: signers.newPrivateKeySigner(key) }),
  };
}

async function load(plan: DirectPlan, write: Writer['write']): Promise<DirectResult> {
  const latencies = new LatencyHistogram();
  const state = { succeeded: 0, refused: 0, firstProblem: null as string | null };
  let number = 0;
  const one = async (): Promise<void> => {
    const text = plan.arguments.replaceAll('{key}', `${plan.keyPrefix}-${(number += 1)}`);
    const sentAt = performance.now();
    try {
      await write(text);
      state.succeeded += 1;
      latencies.record(performance.now() - sentAt);
    } catch (error) {
      state.refused += 1;
      state.firstProblem ??= error instanceof Error ? error.message : String(error);
    }
  };
  const cpuBefore = process.cpuUsage();
  const startedAt = performance.now();
  const mayBegin = (): boolean => number < plan.requests && performance.now() - startedAt < plan.sendForMs;
  const lanes = Array.from({ length: plan.inFlight }, async () => {
    while (mayBegin()) await one();
  });
  await Promise.all(lanes);
  const measuredMs = performance.now() - startedAt;
  const { user, system } = process.cpuUsage(cpuBefore);
  const quantiles = { p50Ms: latencies.quantileMs(0.5), p99Ms: latencies.quantileMs(0.99) };
  return { measuredMs, measured: state.succeeded, ...quantiles, cpuMs: (user + system) / 1000, ...state };
}
