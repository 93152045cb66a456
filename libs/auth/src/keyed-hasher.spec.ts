import { createHmac, createSecretKey } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { framed, KeyedHasher } from './server-secrets.ts';

const newKey = Buffer.alloc(32, 1);
const oldKey = Buffer.alloc(32, 2);
const keyed = (id: string, key: Buffer) => ({ id, key: createSecretKey(key) });
const both = new KeyedHasher([keyed('new', newKey), keyed('old', oldKey)]);
const onlyOld = new KeyedHasher([keyed('old', oldKey)]);
const hmac = (key: Buffer, text: string) => createHmac('sha256', key).update(text).digest();

describe('KeyedHasher', () => {
  it('hashes with the first key and returns its id', () => {
    expect(both.currentId).toBe('new');
    expect(both.hash('ab', 'c')).toEqual({ id: 'new', digest: hmac(newKey, '2:ab1:c') });
  });

  it('hashes with all keys, the first one first', () => {
    expect(both.hashAll('ab', 'c')).toEqual([
      { id: 'new', digest: hmac(newKey, '2:ab1:c') },
      { id: 'old', digest: hmac(oldKey, '2:ab1:c') },
    ]);
  });

  it('distinguishes no parts from an empty part', () => {
    expect(both.hash().digest).toEqual(hmac(newKey, ''));
    expect(both.hash('').digest).toEqual(hmac(newKey, '0:'));
  });

  it('hashes bytes and texts in any order, a text as its UTF-8', () => {
    expect(both.hash('a', Buffer.from('bc'), 'ü', new Uint8Array([0x64]), Buffer.alloc(0)).digest).toEqual(
      hmac(newKey, '1:a2:bc2:ü1:d0:'),
    );
    expect(both.hash(Buffer.from('ü')).digest).toEqual(both.hash('ü').digest);
  });

  it('verifies hashes of any of its keys, and nothing else', () => {
    const made = onlyOld.hash('x', 'y');
    expect(both.verify(made, 'x', 'y')).toBe(true);
    expect(both.verify(both.hash('x', 'y'), 'x', 'y')).toBe(true);
    expect(both.verify(made, 'xy')).toBe(false);
    expect(both.verify({ ...made, id: 'new' }, 'x', 'y')).toBe(false);
    expect(onlyOld.verify(both.hash('x', 'y'), 'x', 'y')).toBe(false);
  });

  it.each([0, 31, 33])('refuses a digest of %i bytes without throwing', (length) => {
    const digest = Buffer.concat([both.hash('x').digest, Buffer.alloc(1)]).subarray(0, length);
    expect(both.verify({ id: 'new', digest }, 'x')).toBe(false);
  });

  it('refuses a digest with any one bit changed', () => {
    fc.assert(
      fc.property(fc.nat({ max: 255 }), (bit) => {
        const digest = Buffer.from(both.hash('x').digest);
        digest[bit >> 3] = (digest[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        expect(both.verify({ id: 'new', digest }, 'x')).toBe(false);
      }),
    );
  });

  it('gives equal hashes only for equal lists of parts', () => {
    const parts = fc.array(fc.string({ unit: fc.constantFrom('1', ':', 'a') }), { maxLength: 4 });
    fc.assert(
      fc.property(parts, parts, (left, right) => {
        expect(both.verify(both.hash(...left), ...right)).toBe(JSON.stringify(left) === JSON.stringify(right));
      }),
    );
  });

  it('is HMAC-SHA256 for keys and messages of any length', () => {
    const bytes = (max: number) => fc.oneof(fc.constantFrom(0, 1, 63, 64, 65, max), fc.nat({ max }));
    const part = fc
      .tuple(fc.boolean(), bytes(9000))
      .map(([isText, length]) => (isText ? 'ü'.repeat(length) : Buffer.alloc(length, 'x')));
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 200 }), fc.array(part, { maxLength: 3 }), (key, parts) => {
        const expected = createHmac('sha256', key);
        for (const each of parts) expected.update(`${Buffer.byteLength(each)}:`).update(each);
        const hasher = new KeyedHasher([keyed('any', Buffer.from(key))]);
        expect(hasher.hash(...parts).digest).toEqual(expected.digest());
      }),
    );
  });

  it('requires a key, and refuses a lone surrogate', () => {
    expect(() => new KeyedHasher([])).toThrow('at least one key');
    expect(() => both.hash('\udc00')).toThrow('lone surrogate');
  });
});

describe('framed', () => {
  it('prefixes each text with its length in UTF-8 bytes', () => {
    expect(framed([])).toBe('');
    expect(framed([''])).toBe('0:');
    expect(framed(['ab', 'c'])).toBe('2:ab1:c');
    expect(framed(['a', 'bc'])).toBe('1:a2:bc');
    expect(framed(['ü', '😀'])).toBe('2:ü4:😀');
  });

  it('encodes different lists differently, in UTF-8 too', () => {
    const list = fc.array(fc.string({ unit: fc.constantFrom('1', '2', ':', 'a', 'ü') }), { maxLength: 4 });
    fc.assert(
      fc.property(list, list, (left, right) => {
        const same = Buffer.from(framed(left)).equals(Buffer.from(framed(right)));
        expect(same).toBe(JSON.stringify(left) === JSON.stringify(right));
      }),
      { numRuns: 1000 },
    );
  });

  it('refuses a lone surrogate, which UTF-8 would replace', () => {
    expect(() => framed(['ok', '\ud800'])).toThrow('lone surrogate');
  });
});
