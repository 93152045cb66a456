import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseVerifierKey } from './note-key.ts';
import { generateNoteKey, noteSigner, parseSignerKey } from './note-signer.ts';
import { anyOf, noteVerifier, parseNote } from './note.ts';

// The example in the documentation of Go's golang.org/x/mod/sumdb/note, the reference implementation of the format.
const GO_SIGNING_KEY = 'PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz';
const GO_VERIFIER_KEY = 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW';
const GO_TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n";
const GO_SIGNATURE =
  '— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n';
const GO_NOTE = `${GO_TEXT}\n${GO_SIGNATURE}`;

// The example of C2SP signed-note, "Verifier keys".
const C2SP_VERIFIER_KEY = 'example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k';
const C2SP_NOTE =
  'This is an example message.\n\n' +
  '— example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n';

describe('a signed note', () => {
  it('is byte for byte that of the reference implementation', () => {
    const signer = noteSigner(GO_SIGNING_KEY);
    expect(signer.name).toBe('PeterNeumann');
    expect(signer.verifierKey).toBe(GO_VERIFIER_KEY);
    expect(signer.sign(GO_TEXT)).toBe(GO_NOTE);
  });

  it('verifies as in the examples of the reference implementation and of C2SP', () => {
    expect(noteVerifier(GO_VERIFIER_KEY).verify(GO_NOTE)).toEqual({ text: GO_TEXT });
    const verifier = noteVerifier(C2SP_VERIFIER_KEY);
    expect(verifier.name).toBe('example.com/foo');
    expect(verifier.keyHash).toBe('530d903a');
    expect(verifier.verify(C2SP_NOTE)).toEqual({ text: 'This is an example message.\n' });
  });

  it('verifies any text signed by its own key', () => {
    const { privateKey, verifierKey } = generateNoteKey('log.example/demo');
    const [signer, verifier] = [noteSigner(privateKey), noteVerifier(verifierKey)];
    const lines = fc.array(fc.string({ unit: 'grapheme' }).map((line) => line.replaceAll(/\p{Cc}/gu, '')));
    fc.assert(
      fc.property(lines, (texts) => {
        const text = texts.map((line) => `${line}\n`).join('') || '\n';
        expect(verifier.verify(signer.sign(text))).toEqual({ text });
      }),
    );
  });

  it('fails if any character changes', () => {
    const verifier = noteVerifier(GO_VERIFIER_KEY);
    fc.assert(
      fc.property(fc.nat({ max: GO_NOTE.length - 1 }), fc.string({ maxLength: 2 }), (place, other) => {
        const changed = GO_NOTE.slice(0, place) + other + GO_NOTE.slice(place + 1);
        fc.pre(changed !== GO_NOTE);
        expect(verifier.verify(changed)).toBeUndefined();
      }),
      { numRuns: 500 },
    );
  });

  it('ends its text at the last blank line', () => {
    const signer = noteSigner(GO_SIGNING_KEY);
    const text = 'first\n\n— PeterNeumann looks like a signature\n';
    expect(noteVerifier(GO_VERIFIER_KEY).verify(signer.sign(text))).toEqual({ text });
  });

  it('ignores signatures of other keys, before and after', () => {
    const verifier = noteVerifier(GO_VERIFIER_KEY);
    const other = noteSigner(generateNoteKey('witness.example').privateKey)
      .sign(GO_TEXT)
      .slice(GO_TEXT.length + 1);
    expect(verifier.verify(`${GO_TEXT}\n${other}${GO_SIGNATURE}`)).toEqual({ text: GO_TEXT });
    expect(verifier.verify(`${GO_NOTE}${other}`)).toEqual({ text: GO_TEXT });
    expect(verifier.verify(`${GO_TEXT}\n${other}`)).toBeUndefined();
  });

  it('ignores a key of the same name with another id', () => {
    const namesake = noteVerifier(generateNoteKey('PeterNeumann').verifierKey);
    expect(namesake.verify(GO_NOTE)).toBeUndefined();
  });

  it('is rejected for one bad signature of the pinned key, even next to a good one', () => {
    const bad = noteSigner(GO_SIGNING_KEY).sign('another text\n').slice('another text\n\n'.length);
    const verifier = noteVerifier(GO_VERIFIER_KEY);
    expect(verifier.verify(`${GO_NOTE}${bad}`)).toBeUndefined();
    expect(verifier.verify(`${GO_TEXT}\n${bad}${GO_SIGNATURE}`)).toBeUndefined();
    expect(verifier.verify(`${GO_NOTE}${GO_SIGNATURE}`)).toEqual({ text: GO_TEXT });
  });

  it('accepts sixteen signatures and more, up to a limit', () => {
    const verifier = noteVerifier(GO_VERIFIER_KEY);
    const other = noteSigner(generateNoteKey('witness.example').privateKey)
      .sign(GO_TEXT)
      .slice(GO_TEXT.length + 1);
    expect(verifier.verify(GO_NOTE + other.repeat(99))).toEqual({ text: GO_TEXT });
    expect(verifier.verify(GO_NOTE + other.repeat(100))).toBeUndefined();
  });

  it.each([
    ['nothing', '', 'blank line'],
    ['no blank line', GO_NOTE.replace('\n\n', '\n'), 'blank line'],
    ['no signature', `${GO_TEXT}\n`, 'end in a newline'],
    ['no newline at the end', GO_NOTE.slice(0, -1), 'end in a newline'],
    ['a hyphen for the dash', GO_NOTE.replace('— ', '- '), 'A signature line'],
    ['two spaces', GO_NOTE.replace('— ', '—  '), 'A signature line'],
    ['text after the signature', GO_NOTE.replace('=\n', '= more\n'), 'A signature line'],
    ['a plus in the name', GO_NOTE.replace('— PeterNeumann', '— Peter+Neumann'), 'A signature line'],
    ['base64 without its padding', GO_NOTE.replace('=\n', '\n'), 'A signature line'],
    ['non-canonical base64', GO_NOTE.replace('AM=\n', 'AN=\n'), 'A signature line'],
    ['only a key id', `${GO_TEXT}\n— PeterNeumann x08gow==\n`, 'A signature line'],
    ['a carriage return', GO_NOTE.replace('problem,\n', 'problem,\r\n'), 'control character'],
    ['a tab', GO_NOTE.replace('If you', 'If\tyou'), 'control character'],
    ['half a character', GO_NOTE.replace('If', '\ud800'), 'well-formed'],
    ['a million characters', 'x'.repeat(1_000_000) + GO_NOTE, 'at most'],
  ])('with %s is malformed, and never verifies', (_, note, message) => {
    expect(noteVerifier(GO_VERIFIER_KEY).verify(note)).toBeUndefined();
    expect(() => parseNote(note)).toThrow(message);
  });

  it('lists its claimed signers without verifying them', () => {
    const { text, signatures } = parseNote(GO_NOTE);
    expect(text).toBe(GO_TEXT);
    expect(signatures).toMatchObject([{ name: 'PeterNeumann', keyHash: 'c74f20a3' }]);
    expect(signatures[0]?.signature).toHaveLength(64);
  });

  it.each([
    ['does not end in a newline', 'text', 'newline'],
    ['is empty', '', 'newline'],
    ['holds a control character', 'te\u0000xt\n', 'control character'],
    ['holds half a character', 'te\udc00xt\n', 'well-formed'],
  ])('is not created from a text that %s', (_, text, message) => {
    expect(() => noteSigner(GO_SIGNING_KEY).sign(text)).toThrow(message);
  });
});

describe('a note key', () => {
  it('has the key id of the examples', () => {
    expect(parseVerifierKey(GO_VERIFIER_KEY)).toMatchObject({ name: 'PeterNeumann', keyHash: 'c74f20a3' });
    expect(parseVerifierKey(C2SP_VERIFIER_KEY)).toMatchObject({ name: 'example.com/foo', keyHash: '530d903a' });
  });

  it('is different each time', () => {
    const [one, two] = [generateNoteKey('log.example'), generateNoteKey('log.example')];
    expect(one.verifierKey).not.toBe(two.verifierKey);
    expect(noteSigner(one.privateKey).verifierKey).toBe(one.verifierKey);
    expect(one.privateKey).toMatch(/^PRIVATE\+KEY\+log\.example\+[0-9a-f]{8}\+[A-Za-z0-9+/]{44}$/);
  });

  it.each(['', 'a b', 'a+b', 'a\u00a0b', 'a\nb', 'a\u0085b', 'a\ud800'])('cannot be named %j', (name) => {
    expect(() => generateNoteKey(name)).toThrow('A key name');
  });

  it.each([
    ['nothing', '', 'reads <name>'],
    ['a signing key', GO_SIGNING_KEY, 'reads <name>'],
    ['a key id in upper case', GO_VERIFIER_KEY.replace('c74f', 'C74F'), 'reads <name>'],
    ['another key id', GO_VERIFIER_KEY.replace('c74f', 'c74e'), 'hashes to c74f20a3'],
    ['another name', GO_VERIFIER_KEY.replace('Peter', 'Petra'), 'hashes to'],
    ['no name', GO_VERIFIER_KEY.replace('PeterNeumann', ''), 'A key name'],
    ['a space in its name', GO_VERIFIER_KEY.replace('Peter', 'Peter '), 'A key name'],
    [
      'another type',
      'EnochRoot+af0cfe78+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop'.replace('+AT', '+Aj'),
      'Ed25519',
    ],
    ['too few bytes', 'PeterNeumann+c74f20a3+ARpc2QcU', '32 bytes'],
    ['malformed base64', GO_VERIFIER_KEY.slice(0, -1), 'base64'],
  ])('is not parsed from %s', (_, key, message) => {
    expect(() => noteVerifier(key)).toThrow(message);
  });

  it.each([
    ['a verifier key', GO_VERIFIER_KEY, 'reads PRIVATE+KEY'],
    ['another key id', GO_SIGNING_KEY.replace('c74f', 'c74e'), 'hashes to c74f20a3'],
    ['malformed base64', GO_SIGNING_KEY.slice(0, -1), 'base64'],
    ['too few bytes', 'PRIVATE+KEY+PeterNeumann+c74f20a3+ARpc2QcU', '32 bytes'],
  ])('is not parsed from %s, and not revealed', (_, key, message) => {
    expect(() => parseSignerKey(key)).toThrow(message);
    expect(() => parseSignerKey(key)).not.toThrow('AYEKFALV');
  });
});

describe('keys that sign together', () => {
  const [old, next, third] = [1, 2, 3].map(() => generateNoteKey('log.example'));
  const [ofOld, ofNext, ofThird] = [old!, next!, third!].map(({ verifierKey }) => noteVerifier(verifierKey));
  const TEXT = 'log.example/a.b\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n';
  const both = noteSigner(`${next!.privateKey}, ${old!.privateKey}`);

  it('all sign the note, so that a verifier that pinned one of them accepts it', () => {
    const note = both.sign(TEXT);
    expect(parseNote(note).signatures.map(({ keyHash }) => keyHash)).toEqual([ofNext!.keyHash, ofOld!.keyHash]);
    expect([ofOld, ofNext].map((verifier) => verifier!.verify(note))).toEqual([{ text: TEXT }, { text: TEXT }]);
    expect(ofThird!.verify(note)).toBeUndefined();
    expect(both).toMatchObject({ name: 'log.example', verifierKey: next!.verifierKey });
    expect(both.verifierKeys).toEqual([next!.verifierKey, old!.verifierKey]);
  });

  it('are equally trusted by a verifier that pinned all of them, with one or both signatures', () => {
    const verifier = anyOf([ofNext!, ofOld!])!;
    for (const { privateKey } of [old!, next!])
      expect(verifier.verify(noteSigner(privateKey).sign(TEXT))).toEqual({ text: TEXT });
    expect(verifier.verify(both.sign(TEXT))).toEqual({ text: TEXT });
    expect(verifier.verify(noteSigner(third!.privateKey).sign(TEXT))).toBeUndefined();
    expect(verifier.keys.map(({ keyHash }) => keyHash)).toEqual([ofNext!.keyHash, ofOld!.keyHash]);
    expect(anyOf([])).toBeUndefined();
    for (const malformed of ['', 'x', TEXT]) expect(verifier.verify(malformed)).toBeUndefined();
  });

  it('reject a note with an invalid signature of one of them', () => {
    const [good, other] = [noteSigner(next!.privateKey).sign(TEXT), noteSigner(old!.privateKey).sign('other\n')];
    const mixed = good + other.slice(other.indexOf('—'));
    expect(ofNext!.verify(mixed)).toEqual({ text: TEXT });
    expect(anyOf([ofNext!, ofOld!])!.verify(mixed)).toBeUndefined();
  });

  it('share one name, and each is listed once', () => {
    const stranger = generateNoteKey('other.example').privateKey;
    expect(() => noteSigner(`${old!.privateKey},${stranger}`)).toThrow('Keys that sign together have one name.');
    expect(() => noteSigner(`${old!.privateKey},${old!.privateKey}`)).toThrow('A key signs once.');
    expect(() => noteSigner(`${old!.privateKey},`)).toThrow(/base64|signing key/);
  });
});
