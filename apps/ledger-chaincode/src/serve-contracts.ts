import './commonjs-globals.ts';
import { JSONSerializer, type Contract } from 'fabric-contract-api';
import { Shim } from 'fabric-shim';
import ChaincodeFromContract from 'fabric-shim/lib/contract-spi/chaincodefromcontract.js';
import type { ServerConfig } from './server-config.ts';

/** Keepalive interval and timeout of idle peer connections. */
const KEEPALIVE_MS = 110_000;
const KEEPALIVE_TIMEOUT_MS = 20_000;

const UNLIMITED = -1;

/**
 * Serves contracts to peers as one chaincode; the first is the default. Resolves once it is listening, rejects if the
 * address is not available. Runs until the process exits: a transaction that is being simulated then fails at its peer,
 * and nothing is written.
 */
export async function serveContracts(contracts: readonly (new () => Contract)[], config: ServerConfig): Promise<void> {
  const serializers = { transaction: 'json', serializers: { json: JSONSerializer } };
  const chaincode = new ChaincodeFromContract([...contracts], serializers, {}, 'sealgate', '');
  const options = {
    ccid: config.chaincodeId,
    address: config.address,
    // No message limit: peers have their own.
    'grpc.max_send_message_length': UNLIMITED,
    'grpc.max_receive_message_length': UNLIMITED,
    'grpc.keepalive_time_ms': KEEPALIVE_MS,
    'grpc.keepalive_timeout_ms': KEEPALIVE_TIMEOUT_MS,
    'grpc.keepalive_permit_without_calls': 1,
    tlsProps: config.tls,
  };
  // The typings require TLS files for every server; the server itself does not.
  const server = Shim.server(chaincode, options as Parameters<typeof Shim.server>[1]);
  await server.start();
}
