import type { EndorsedTransaction } from './endorsed-transaction.ts';
import type { GrpcConnection } from './grpc-connection.ts';
import type { FabricIdentity } from './identity-files.ts';
import { BackwardWriter, FIELD_OVERHEAD } from './protobuf.ts';

const METHOD = '/gateway.Gateway/Submit';
/** Two integers of 33 bytes at most, with their tags and lengths (see native-signer.ts). */
const SIGNATURE_MAX_BYTES = 72;
const FIELDS = 5;

/**
 * Signs an endorsed transaction and writes the request that submits it, `gateway.SubmitRequest`: {1: transaction id,
 * 2: channel, 3: envelope {1: payload, 2: signature}}. These bytes are journalled and sent, and sent again, as they are.
 */
export function submitRequest(channel: string, transaction: EndorsedTransaction, identity: FabricIdentity): Buffer {
  const { transactionId, payload } = transaction;
  const signature = identity.sign(payload);
  const names = Buffer.byteLength(channel) + transactionId.length;
  const writer = new BackwardWriter(FIELDS * FIELD_OVERHEAD + names + payload.length + SIGNATURE_MAX_BYTES);
  const end = writer.end;
  writer.bytes(2, signature);
  writer.bytes(1, payload);
  writer.close(3, end);
  writer.text(2, channel);
  writer.text(1, transactionId);
  return writer.since(end);
}

/** Hands a request to the orderers through a peer. @throws CallFailure. */
export async function sendRequest(connection: GrpcConnection, request: Buffer, withinMs: number): Promise<void> {
  await connection.call(METHOD, request, withinMs);
}
