import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { headKey, keysBehind, recordKey } from './record-keys.ts';

/** Any text without lone surrogates. */
const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 8 });
const codePoints = (value: string) => [...value].map((character) => character.codePointAt(0)!);
const compareCodePoints = (left: string, right: string): number => {
  const [a, b] = [codePoints(left), codePoints(right)];
  const at = a.findIndex((point, place) => point !== b[place]);
  if (at === -1) return a.length - b.length;
  return b.length <= at ? 1 : a[at]! - b[at]!;
};
/** LevelDB compares the bytes of keys. */
const compareBytes = (left: string, right: string) => Buffer.compare(Buffer.from(left), Buffer.from(right));

describe('world state keys', () => {
  it('are plain ASCII', () => {
    expect(headKey('a/b')).toBe('i/612f62');
    expect(recordKey('é', '\u{10ffff}')).toBe('r/c3a9/f48fbfbf');
  });

  it('sort by the code points of the ids', () => {
    fc.assert(
      fc.property(text, text, text, (type, left, right) => {
        const order = compareBytes(recordKey(type, left), recordKey(type, right));
        expect(Math.sign(order)).toBe(Math.sign(compareCodePoints(left, right)));
      }),
    );
  });

  it('are in the range after an id exactly if they are of the type and sort after it', () => {
    fc.assert(
      fc.property(text, text, fc.oneof(text, fc.constant('')), text, (type, otherType, afterId, id) => {
        const [from, to] = keysBehind(type, afterId);
        const isWithin = (key: string) => compareBytes(from, key) <= 0 && compareBytes(key, to) < 0;
        expect(isWithin(recordKey(type, id))).toBe(afterId === '' || compareCodePoints(id, afterId) > 0);
        if (otherType !== type) expect(isWithin(recordKey(otherType, id))).toBe(false);
        expect(isWithin(headKey(id))).toBe(false);
      }),
    );
  });
});
