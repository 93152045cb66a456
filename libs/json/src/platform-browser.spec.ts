import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import * as browser from './platform-browser.ts';
import * as node from './platform-node.ts';

const encodings = ['utf8', 'hex', 'base64', 'base64url', 'latin1'] as const;
const plain = (bytes: Uint8Array): number[] => Array.from(bytes);
const bytes = fc.uint8Array({ maxLength: 200 });
const wellFormed = fc.string({ unit: 'grapheme', maxLength: 100 });

describe("the browser's Bytes", () => {
  it("are written and read like Node's, in every encoding", () => {
    fc.assert(
      fc.property(bytes, fc.constantFrom(...encodings), (given, encoding) => {
        const expected = node.Bytes.from(given).toString(encoding);
        expect(browser.Bytes.from(given).toString(encoding)).toBe(expected);
        if (encoding !== 'utf8') expect(plain(browser.Bytes.from(expected, encoding))).toEqual(plain(given));
      }),
    );
    fc.assert(
      fc.property(wellFormed, (text) => {
        expect(plain(browser.Bytes.from(text))).toEqual(plain(node.Bytes.from(text)));
        expect(browser.Bytes.byteLength(text)).toBe(node.Bytes.byteLength(text));
      }),
    );
  });

  it("are cut, copied, joined and compared like Node's", () => {
    fc.assert(
      fc.property(bytes, bytes, fc.nat(220), fc.nat(220), (left, right, start, end) => {
        const judge = ({ Bytes }: typeof browser | typeof node) => {
          const joined = Bytes.concat([left, right]);
          const target = Bytes.alloc(100, 'x');
          const count = joined.copy(
            target,
            0,
            Math.min(start, joined.length),
            Math.max(start, Math.min(end, joined.length)),
          );
          const part = joined.subarray(start, end);
          return {
            joined: plain(joined),
            target: plain(target),
            count,
            part: part.toString('hex'),
            text: joined.toString('utf8', Math.min(start, joined.length), joined.length),
            equal: Bytes.from(left).equals(right),
            same: Bytes.from(left).equals(Bytes.from(left)),
            isBuffer: Bytes.isBuffer(part),
            foreign: Bytes.isBuffer(new Uint8Array(1)),
          };
        };
        expect(judge(browser)).toEqual(judge(node));
      }),
    );
  });

  it('write a text at an offset, as far as there is room', () => {
    fc.assert(
      fc.property(wellFormed, fc.nat(40), (text, offset) => {
        const judge = ({ Bytes }: typeof browser | typeof node) => {
          const target = Bytes.alloc(40);
          return { count: target.write(text, offset, 'utf8'), target: plain(target) };
        };
        expect(judge(browser)).toEqual(judge(node));
      }),
    );
  });

  it('share memory only for views', () => {
    const { buffer } = Uint8Array.of(1, 2, 3, 4);
    const view = browser.Bytes.from(buffer, 1, 2);
    view[0] = 9;
    expect(plain(new Uint8Array(buffer))).toEqual([1, 9, 3, 4]);
    const copy = browser.Bytes.from(view);
    copy[0] = 7;
    expect(view[0]).toBe(9);
  });

  it('decode invalid base64 to nothing', () => {
    expect(plain(browser.Bytes.from('a%', 'base64'))).toEqual([]);
  });

  it("are checked for UTF-8 and hashed like Node's", () => {
    fc.assert(
      fc.property(bytes, (given) => {
        expect(browser.isUtf8(given)).toBe(node.isUtf8(given));
        for (const encoding of ['hex', 'base64url', 'binary'] as const) {
          expect(browser.hash('sha256', given, encoding)).toBe(node.hash('sha256', given, encoding));
        }
      }),
    );
    // FIPS 180-4, the example "abc".
    const abc = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';
    expect(browser.hash('sha256', 'abc', 'hex')).toBe(abc);
  });
});
