import { describe, expect, it } from '@jest/globals';
import { jwkOfPoint } from '@sealgate/envelope';
import { parseVerifierKey } from '@sealgate/merkle';
import { vectors } from '@sealgate/verify/vectors';
import { notesIn, verifierKeysOf } from './published-keys.ts';

const { files, pins } = vectors.find(({ title }) => title === 'a proof that holds')!;
const named = Object.entries(files).map(([name, text]) => ({ name, bytes: new TextEncoder().encode(text) }));
const jwkOf = (key: string) => jwkOfPoint(parseVerifierKey(key).point.toString('base64url'));
const own = jwkOf(pins.logKeys!);
const stranger = vectors.find(({ title }) => title === 'a proof by another key of that name')!.pins.logKeys!;

describe('published keys', () => {
  it('get the name that they sign under', () => {
    const keys = [jwkOf(stranger), own];
    expect(verifierKeysOf({ keys }, notesIn(named))).toBe(pins.logKeys);
  });

  it('that signed nothing here are used all the same, so that the signature fails', () => {
    expect(verifierKeysOf({ keys: [jwkOf(stranger)] }, notesIn(named))).toBe(stranger);
  });

  it('are none without a checkpoint that names the log', () => {
    expect(verifierKeysOf({ keys: [own] }, [])).toBe('');
    expect(verifierKeysOf({ keys: [own] }, ['no note'])).toBe('');
    expect(notesIn([{ name: 'photo', bytes: Uint8Array.of(0xff) }])).toEqual([]);
  });
});
