import { GatewayError, type Transaction } from '@hyperledger/fabric-gateway';
import { gateway as protos } from '@hyperledger/fabric-protos';
import type { PeerGateway } from './gateway-peers.ts';

const METHOD = '/gateway.Gateway/Submit';
/** Protocol buffers: field number with wire type 2 (length-delimited). */
const FIELD_1 = 0x0a;
const FIELD_2 = 0x12;
const FIELD_3 = 0x1a;

/**
 * Signs an endorsed transaction and encodes its Submit request, `gateway.SubmitRequest`: {1: transaction id, 2:
 * channel, 3: envelope {1: payload, 2: signature}}. These bytes are journalled, sent and resent unchanged.
 *
 * Encoded by hand, because the gateway client's objects would parse and serialise the endorsed transaction three times;
 * a test compares this with the library's own parser.
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

/** Submits a request to the orderers through a peer. @throws GatewayError. */
export function sendRequest({ client }: PeerGateway, request: Buffer, withinMs: number): Promise<void> {
  const options = { deadline: Date.now() + withinMs };
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(METHOD, passThrough, ignored, request, options, (error) => {
      if (error === null) resolve();
      else reject(new GatewayError({ code: error.code, message: error.details, details: [], cause: error }));
    });
  });
}

const passThrough = (request: Buffer): Buffer => request;
/** A SubmitResponse is empty. */
const ignored = (): object => NOTHING;
const NOTHING = {};

/** The endorsed result contained in a request. */
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

/** Length of a field with its tag and length prefix. */
function fieldBytes(length: number): number {
  let bytes = 2 + length;
  for (let left = length; left > 0x7f; left = Math.floor(left / 128)) bytes += 1;
  return bytes;
}
