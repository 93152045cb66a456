import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { checkpointText, parseCheckpoint } from './checkpoint.ts';
import { generateNoteKey, noteSigner } from './note-signer.ts';
import { EMPTY_ROOT } from './tree-hash.ts';

// The example of C2SP tlog-checkpoint.
const TEXT = 'example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n';
const NOTE =
  `${TEXT}\n— example.com/behind-the-sofa ` +
  'Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n';
const EXAMPLE = {
  origin: 'example.com/behind-the-sofa',
  size: 20_852_163,
  root: Buffer.from('0ac5186a91863e8e1d90c808014aa89bf5da8e3ee1d9f07630f0378f68f1ab62', 'hex'),
};

describe('a checkpoint', () => {
  it('is parsed as in the C2SP example, with and without its signatures', () => {
    expect(parseCheckpoint(NOTE)).toEqual(EXAMPLE);
    expect(parseCheckpoint(TEXT)).toEqual(EXAMPLE);
    expect(checkpointText(EXAMPLE)).toBe(TEXT);
  });

  it('is restored from its text, signed or not', () => {
    const signer = noteSigner(generateNoteKey('log.example').privateKey);
    const bytes = fc.uint8Array({ minLength: 32, maxLength: 32 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), bytes, (size, root) => {
        const checkpoint = { origin: 'log.example/demo.main', size, root: Buffer.from(root) };
        const text = checkpointText(checkpoint);
        expect(parseCheckpoint(text)).toEqual(checkpoint);
        expect(parseCheckpoint(signer.sign(text))).toEqual(checkpoint);
      }),
    );
  });

  it('of an empty log has the empty root only', () => {
    const text = 'o\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n';
    expect(parseCheckpoint(text)).toEqual({ origin: 'o', size: 0, root: EMPTY_ROOT });
    expect(checkpointText({ origin: 'o', size: 0, root: EMPTY_ROOT })).toBe(text);
    expect(() => parseCheckpoint(TEXT.replace('20852163', '0'))).toThrow('empty log');
    expect(() => checkpointText({ ...EXAMPLE, size: 0 })).toThrow('empty log');
  });

  it('may have extension lines, which are ignored', () => {
    expect(parseCheckpoint(`${TEXT}more\n`)).toEqual(EXAMPLE);
  });

  it.each([
    ['nothing', '', 'newline'],
    ['two lines', 'example.com\n5\n', 'three lines'],
    ['no newline at the end', TEXT.slice(0, -1), 'newline'],
    ['an empty origin', TEXT.replace('example.com/behind-the-sofa', ''), 'empty line'],
    ['a leading zero', TEXT.replace('20852163', '020852163'), 'decimal size'],
    ['a sign', TEXT.replace('20852163', '+20852163'), 'decimal size'],
    ['a size beyond safe integers', TEXT.replace('20852163', '9007199254740992'), 'decimal size'],
    ['a size in letters', TEXT.replace('20852163', '1e3'), 'decimal size'],
    ['a root without padding', TEXT.replace('=\n', '\n'), 'base64'],
    ['a root in hex', TEXT.replace(/Cs.*=/, EXAMPLE.root.toString('hex')), '32 bytes'],
    ['a short root', TEXT.replace(/Cs.*=/, 'CsUYapGG'), '32 bytes'],
  ])('is not parsed from a text with %s', (_, text, message) => {
    expect(() => parseCheckpoint(text)).toThrow(message);
  });

  it.each([
    ['an origin with a space', { origin: 'a b' }, 'An origin'],
    ['an origin with a newline', { origin: 'a\n5' }, 'An origin'],
    ['no origin', { origin: '' }, 'An origin'],
    ['a size below 0', { size: -1 }, 'cannot cover'],
    ['half a leaf', { size: 1.5 }, 'cannot cover'],
    ['a short root', { root: Buffer.alloc(31) }, '32 bytes'],
  ])('is not created with %s', (_, spoiled, message) => {
    expect(() => checkpointText({ ...EXAMPLE, ...spoiled })).toThrow(message);
  });
});
