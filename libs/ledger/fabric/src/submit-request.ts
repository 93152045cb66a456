import { GatewayError, type Transaction } from '@hyperledger/fabric-gateway';
import { gateway as protos } from '@hyperledger/fabric-protos';
import type { PeerGateway } from './gateway-peers.ts';

const METHOD = '/gateway.Gateway/Submit';
/** Protocol buffers: field number, and that a length and bytes follow. */
const FIELD_1 = 0x0a;
const FIELD_2 = 0x12;
const FIELD_3 = 0x1a;

/**
 * Signs an endorsed transaction and writes the request that submits it, `gateway.SubmitRequest`: {1: transaction id,
 * 2: channel, 3: envelope {1: payload, 2: signature}}. These bytes are journalled and sent, and sent again, as they are.
 *
 * Written here, field by field, because the way through the gateway client's objects takes the endorsed transaction apart
 * and puts it together three times; a test holds this against the library's own reading of it.
 */
export function submitRequest(channel: string, transaction: Transaction, { identity }: PeerGateway): Buffer {
  // The client's hash is `none`, so its digest is the payload itself.
  const payload = transaction.getDigest();
  const signature = identity.sign(payload);
  const envelopeBytes = fieldBytes(payload.length) + fieldBytes(signature.length);
  const transactionId = transaction.getTransactionId();
  const channelBytes = Buffer.byteLength(channel);
  const request = Buffer.allocUnsafe(
    fieldBytes(transactionId.length) + fieldBytes(channelBytes) + fieldBytes(envelopeBytes),
  );
  let at = header(request, 0, FIELD_1, transactionId.length);
  at += request.write(transactionId, at, 'latin1');
  at = header(request, at, FIELD_2, channelBytes);
  at += request.write(channel, at, 'utf8');
  at = header(request, at, FIELD_3, envelopeBytes);
  at = header(request, at, FIELD_1, payload.length);
  request.set(payload, at);
  at = header(request, at + payload.length, FIELD_2, signature.length);
  request.set(signature, at);
  return request;
}

/** Hands a request to the orderers through a peer. @throws GatewayError. */
export function sendRequest({ client }: PeerGateway, request: Buffer, withinMs: number): Promise<void> {
  const options = { deadline: Date.now() + withinMs };
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(METHOD, asItIs, ignored, request, options, (error) => {
      if (error === null) resolve();
      else reject(new GatewayError({ code: error.code, message: error.details, details: [], cause: error }));
    });
  });
}

const asItIs = (request: Buffer): Buffer => request;
/** A SubmitResponse holds nothing. */
const ignored = (): object => NOTHING;
const NOTHING = {};

/** What the transaction of a request returned when it was endorsed. */
export function resultOf(request: Uint8Array, { gateway }: PeerGateway): Uint8Array {
  const submit = protos.SubmitRequest.deserializeBinary(request);
  const prepared = new protos.PreparedTransaction();
  prepared.setTransactionId(submit.getTransactionId());
  prepared.setEnvelope(submit.getPreparedTransaction());
  return gateway.newTransaction(prepared.serializeBinary()).getResult();
}

function header(buffer: Buffer, at: number, tag: number, length: number): number {
  buffer[at] = tag;
  let left = length;
  let position = at + 1;
  for (; left > 0x7f; left = Math.floor(left / 128)) buffer[position++] = (left & 0x7f) | 0x80;
  buffer[position] = left;
  return position + 1;
}

/** Of a field with its tag and length. */
function fieldBytes(length: number): number {
  let bytes = 2 + length;
  for (let left = length; left > 0x7f; left = Math.floor(left / 128)) bytes += 1;
  return bytes;
}
