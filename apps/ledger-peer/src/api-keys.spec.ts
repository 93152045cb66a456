import { hash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { ConfiguredKeys } from './api-keys.ts';

const key = 'k'.repeat(32);
const other = 'o'.repeat(40);
const of = (text: string) => ConfiguredKeys.of(() => text);
const hashOf = (text: string) => hash('sha256', text, 'hex');

describe('configured keys', () => {
  it('are found by the exact key only', () => {
    const keys = of(`${hashOf(key)}, ${hashOf(other).toUpperCase()}`);
    expect(keys.size).toBe(2);
    expect(keys.find(key)).toMatchObject({ familyId: hashOf(key).slice(0, 16) });
    expect(keys.find(other)).toBeDefined();
    for (const wrong of ['', key.slice(1), `${key}=`, key.toUpperCase(), hashOf(key)])
      expect(keys.find(wrong)).toBeUndefined();
  });

  it('of one family differ only by their hashes', () => {
    const keys = of(`team:${hashOf(key)},Team:${hashOf(other)}`);
    expect(keys.find(key)?.familyId).toBe('team');
    expect(keys.find(other)?.familyId).toBe('team');
    expect(keys.families).toEqual(['team', 'team']);
  });

  it('can take over the identity of a key without a family', () => {
    const family = hashOf(key).slice(0, 16);
    const keys = of(`${hashOf(key)},${family}:${hashOf(other)}`);
    expect(keys.find(other)?.familyId).toBe(keys.find(key)?.familyId);
  });

  it('are empty for an empty text', () => {
    expect(of(' ').size).toBe(0);
    expect(of('').find(key)).toBeUndefined();
  });

  it('of fewer than 32 characters are never found, even if their hash is configured', () => {
    const short = 's'.repeat(31);
    expect(of(hashOf(short)).find(short)).toBeUndefined();
  });

  it.each([
    ['a raw key', key, 'entry 1'],
    ['an empty entry', `${hashOf(key)},`, 'entry 2'],
    ['a strange family', `a b:${hashOf(key)}`, 'entry 1'],
    ['a key twice', `${hashOf(key)},x:${hashOf(key)}`, 'twice'],
  ])('are rejected for %s, without quoting it', (_, text, said) => {
    expect(() => of(text)).toThrow(said);
    expect(() => of(text)).not.toThrow(new RegExp(key));
  });
});
