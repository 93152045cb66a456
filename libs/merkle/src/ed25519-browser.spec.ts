import { describe, expect, it } from '@jest/globals';
import { ed25519Key, settleSignatures } from './ed25519-browser.ts';

const hex = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, 'hex'));

// RFC 8032, section 7.1, tests 2 and 3.
const POINT = hex('3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c');
const DATA = hex('72');
const SIGNATURE = hex(
  '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
);
const OTHER_POINT = hex('fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025');
const OTHER_DATA = hex('af82');
const OTHER_SIGNATURE = hex(
  '6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a',
);

describe('signatures in a browser', () => {
  it('are verified like the examples of RFC 8032', async () => {
    const good = await settleSignatures(() => ed25519Key(POINT).verify(DATA, SIGNATURE));
    const bad = await settleSignatures(() => ed25519Key(POINT).verify(OTHER_DATA, SIGNATURE));
    const swapped = await settleSignatures(() => ed25519Key(OTHER_POINT).verify(DATA, SIGNATURE));
    expect({ good, bad, swapped }).toEqual({ good: true, bad: false, swapped: false });
  });

  it('are all verified within one check, even if one decides whether the next is requested', async () => {
    let runs = 0;
    const both = await settleSignatures(() => {
      runs += 1;
      return ed25519Key(POINT).verify(DATA, SIGNATURE) && ed25519Key(OTHER_POINT).verify(OTHER_DATA, OTHER_SIGNATURE);
    });
    expect({ both, runs }).toEqual({ both: true, runs: 3 });
  });

  it('are false for an invalid key and for a signature of another length', async () => {
    const noPoint = await settleSignatures(() => ed25519Key(hex('ff'.repeat(32))).verify(DATA, SIGNATURE));
    const short = await settleSignatures(() => ed25519Key(POINT).verify(DATA, SIGNATURE.slice(1)));
    expect({ noPoint, short }).toEqual({ noPoint: false, short: false });
  });

  it('are rejected outside an asynchronous check', () => {
    expect(() => ed25519Key(POINT).verify(DATA, SIGNATURE)).toThrow('within settleSignatures');
  });

  it('pass on an exception of the check once all are verified', async () => {
    const check = settleSignatures(() => {
      throw new Error(ed25519Key(POINT).verify(DATA, SIGNATURE) ? 'signed' : 'not signed');
    });
    await expect(check).rejects.toThrow(/^signed$/);
  });

  it('are separate for concurrent checks', async () => {
    const [good, bad] = await Promise.all([
      settleSignatures(() => ed25519Key(POINT).verify(DATA, SIGNATURE)),
      settleSignatures(() => ed25519Key(POINT).verify(OTHER_DATA, SIGNATURE)),
    ]);
    expect({ good, bad }).toEqual({ good: true, bad: false });
  });

  it('fail if a check keeps requesting more', async () => {
    let length = 0;
    const check = settleSignatures(() => ed25519Key(POINT).verify(new Uint8Array((length += 1)), SIGNATURE));
    await expect(check).rejects.toThrow('more and more signatures');
  });
});
