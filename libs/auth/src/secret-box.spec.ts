import { describe, expect, it } from '@jest/globals';
import { SealedTextError, ServerSecrets } from './server-secrets.ts';

const one = `s1:${'a'.repeat(32)}`;
const two = `s2:${'b'.repeat(32)}`;
const boxOf = (text: string, purpose = 'test') => ServerSecrets.parse(text).sealing(purpose);

describe('a secret box', () => {
  it('opens what it sealed, and never seals a text the same way twice', () => {
    const box = boxOf(one);
    const sealed = box.seal('geheim ✓', 'row 1');
    expect(sealed).toMatch(/^s1:[A-Za-z0-9_-]+$/);
    expect(sealed).not.toContain(Buffer.from('geheim').toString('base64url').slice(0, 6));
    expect(box.open(sealed, 'row 1')).toBe('geheim ✓');
    expect(box.seal('geheim ✓', 'row 1')).not.toBe(sealed);
    expect(box.open(box.seal('', 'row 1'), 'row 1')).toBe('');
  });

  it('opens texts sealed with an earlier secret, and seals with the first', () => {
    const old = boxOf(one).seal('text', 'row');
    const rotated = boxOf(`${two},${one}`);
    expect(rotated.open(old, 'row')).toBe('text');
    expect(rotated.seal('text', 'row')).toMatch(/^s2:/);
    expect(() => boxOf(two).open(old, 'row')).toThrow(SealedTextError);
  });

  it('opens a text only in its context and purpose', () => {
    const sealed = boxOf(one).seal('text', 'row 1');
    expect(() => boxOf(one).open(sealed, 'row 2')).toThrow(SealedTextError);
    expect(() => boxOf(one, 'other').open(sealed, 'row 1')).toThrow(SealedTextError);
  });

  it('refuses a text with any bit flipped, a truncated one and an empty one', () => {
    const box = boxOf(one);
    const sealed = box.seal('text', 'row');
    const bytes = Buffer.from(sealed.slice(3), 'base64url');
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const flipped = Buffer.from(bytes);
      flipped[bit >> 3]! ^= 1 << (bit & 7);
      expect(() => box.open(`s1:${flipped.toString('base64url')}`, 'row')).toThrow(SealedTextError);
    }
    for (const wrong of ['', 's1:', 's1:AAAA', 'text', sealed.slice(0, -4)]) {
      expect(() => box.open(wrong, 'row')).toThrow(SealedTextError);
    }
  });
});
