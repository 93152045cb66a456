import { describe, expect, it } from '@jest/globals';
import type { Transaction } from '@hyperledger/fabric-gateway';
import { gateway as protos } from '@hyperledger/fabric-protos';
import fc from 'fast-check';
import type { PeerGateway } from './gateway-peers.ts';
import { submitRequest } from './submit-request.ts';

const bytes = (most: number) => fc.uint8Array({ maxLength: most });
const requestOf = (channel: string, transactionId: string, payload: Uint8Array, signature: Uint8Array) => {
  const transaction: Pick<Transaction, 'getDigest' | 'getTransactionId'> = {
    getDigest: () => payload,
    getTransactionId: () => transactionId,
  };
  const peer = { identity: { sign: (message: Uint8Array) => Buffer.from(message === payload ? signature : []) } };
  return submitRequest(channel, transaction as Transaction, peer as unknown as PeerGateway);
};

describe('the Submit request', () => {
  it('is parsed by the library as such', () => {
    const id = fc.stringMatching(/^[0-9a-f]{64}$/);
    fc.assert(
      fc.property(
        fc.stringMatching(/^[a-z][a-z0-9.-]{0,248}$/),
        id,
        bytes(40_000),
        bytes(80),
        (channel, transactionId, payload, signature) => {
          const read = protos.SubmitRequest.deserializeBinary(requestOf(channel, transactionId, payload, signature));
          expect(read.getChannelId()).toBe(channel);
          expect(read.getTransactionId()).toBe(transactionId);
          expect(Buffer.compare(read.getPreparedTransaction()!.getPayload_asU8(), payload)).toBe(0);
          expect(Buffer.compare(read.getPreparedTransaction()!.getSignature_asU8(), signature)).toBe(0);
        },
      ),
    );
  });

  it.each([127, 128, 16_383, 16_384, 2_097_151, 2_097_152])('supports a payload of %d bytes', (length) => {
    const request = requestOf('main', 'ab', Buffer.alloc(length, 7), Buffer.from('s'));
    const library = new protos.SubmitRequest();
    library.setTransactionId('ab');
    library.setChannelId('main');
    const envelope = protos.SubmitRequest.deserializeBinary(request).getPreparedTransaction()!;
    library.setPreparedTransaction(envelope);
    expect(request.equals(library.serializeBinary())).toBe(true);
    expect(envelope.getPayload_asU8()).toHaveLength(length);
  });
});
