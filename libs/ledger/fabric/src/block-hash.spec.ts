import { expect, it } from '@jest/globals';
import { common } from '@hyperledger/fabric-protos';
import { blockHash } from './block-hash.ts';

function headerOf(number: number, previousHash: string, dataHash: string) {
  const header = new common.BlockHeader();
  header.setNumber(number);
  header.setPreviousHash(Buffer.from(previousHash, 'hex'));
  header.setDataHash(Buffer.from(dataHash, 'hex'));
  return header;
}

// Recorded on a network of Fabric 2.5.16: each hash is the previous hash of the next block.
const FIRST = '4f951d6f93c11f7fde55ec1e8e23f023becff7e8e9556976f0649ae2747c524a';
const SIXTH = 'eb922389c233fb9a53e9b2104b0dc2003217cae3004ac895a80d8eb61a3bc130';

it('is the one by which the next block names a block', () => {
  expect(blockHash(headerOf(0, '', 'ba24f7405e372ae886d80f40e293542ea30adfd3a68b70c82e7d83e7e3d83f5f'))).toBe(FIRST);
  expect(blockHash(headerOf(6, SIXTH, 'c27a01b9508793c6c0e1dc90af8612465e4eb5881f4f5279339728fe95b03701'))).toBe(
    '31a7c154cc059d180f947b4db1684b2e5fcd667185384e1867da3021d673af16',
  );
});

it('is of a number with its first bit set, too', () => {
  // SHA-256 of 30 48, 02 02 00 80, and twice 04 20 with 32 zeros.
  const zeros = '00'.repeat(32);
  expect(blockHash(headerOf(128, zeros, zeros))).toBe(
    'c27767b427898d8d4193098c5eb3584a44e19eaa2dfe84e83df348ef21d7f192',
  );
});
