import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { dataHashOf, receiptLeaf } from './receipt.ts';

// Salt 00 01 .. 1f. The expected hashes were computed with Python's hashlib over hand-written canonical text.
const SALT = Buffer.from(Array.from({ length: 32 }, (_, byte) => byte));
const DATA_HASH = 'f9d38e0483d5a94674f6ca71bdce7449ff047bc85979ce339732f960e6b6840c';
const RECEIPT = {
  network: 'demo',
  channel: 'demo.main',
  id: 'r-1',
  type: 'demo.order',
  owner: null,
  dataHash: DATA_HASH,
  salt: SALT.toString('hex'),
  extra: null,
  transactionId: 'tx-1',
  at: '2026-01-01T00:00:00.000Z',
  index: 0,
};

describe('the hash of a content', () => {
  it('covers salt, data and extra, in canonical form', () => {
    expect(dataHashOf(SALT, { b: 2, a: 'ü' }, null)).toBe(DATA_HASH);
    expect(dataHashOf(SALT, { a: 'ü', b: 2 }, { note: 'x' })).toBe(
      'b34eefa60dda6e1d1df91b1481b38f5f739061852d19e6039e9a6966307f4f32',
    );
  });

  it('differs with another salt', () => {
    expect(dataHashOf(Buffer.alloc(32), { b: 2, a: 'ü' }, null)).not.toBe(DATA_HASH);
  });

  it.each([0, 31, 33])('rejects a salt of %d bytes', (length) => {
    expect(() => dataHashOf(Buffer.alloc(length), {}, null)).toThrow('A salt is 32 bytes long');
  });
});

describe('the leaf of a receipt', () => {
  it('is the RFC 6962 hash of the canonical receipt', () => {
    expect(receiptLeaf(RECEIPT).toString('hex')).toBe(
      '512f8c8c881a9d53e28995c87d863b2b6e5c01dac53ccb4b20b5e17e1fcc2260',
    );
    expect(receiptLeaf({ ...RECEIPT, owner: 'Zürich «€»' }).toString('hex')).toBe(
      'b828b09eba071dc0e7e8d8f60b63bbb332c7ac39428629ce8aac6202fd5d87f5',
    );
  });

  it('does not change with an erasure, nor with the position in the log', () => {
    const leaf = receiptLeaf(RECEIPT);
    const erased = { ...RECEIPT, salt: null, extra: null, index: 7 };
    expect(receiptLeaf(erased)).toEqual(leaf);
  });

  it('changes with every member it covers', () => {
    const leaf = receiptLeaf(RECEIPT);
    const members = ['network', 'channel', 'id', 'type', 'owner', 'dataHash', 'transactionId', 'at'];
    for (const member of members) expect(receiptLeaf({ ...RECEIPT, [member]: 'other' })).not.toEqual(leaf);
    expect(receiptLeaf({ ...RECEIPT, owner: '' })).not.toEqual(leaf);
  });

  it('has members in the order of RFC 8785, for any values', () => {
    const text = fc.string({ unit: 'grapheme' });
    fc.assert(
      fc.property(text, text, fc.option(text), (id, type, owner) => {
        const q = (value: string | null) => JSON.stringify(value);
        const canonical =
          `{"at":${q(RECEIPT.at)},"channel":"demo.main","dataHash":"${DATA_HASH}","id":${q(id)},"network":"demo",` +
          `"owner":${q(owner)},"transactionId":"tx-1","type":${q(type)},"v":1}`;
        const expected = createHash('sha256').update(Buffer.of(0)).update(canonical).digest();
        expect(receiptLeaf({ ...RECEIPT, id, type, owner })).toEqual(expected);
      }),
    );
  });
});
