import { hash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { ConfiguredKeys } from './api-keys.ts';

const key = 'k'.repeat(32);
const other = 'o'.repeat(40);
const of = (text: string) => ConfiguredKeys.of(() => text);
const hashOf = (text: string) => hash('sha256', text, 'hex');

describe('configured keys', () => {
  it('are found by the key itself, and by nothing near it', () => {
    const keys = of(`${hashOf(key)}, ${hashOf(other).toUpperCase()}`);
    expect(keys.size).toBe(2);
    expect(keys.find(key)).toMatchObject({ familyId: hashOf(key).slice(0, 16) });
    expect(keys.find(other)).toBeDefined();
    for (const wrong of ['', key.slice(1), `${key}=`, key.toUpperCase(), hashOf(key)])
      expect(keys.find(wrong)).toBeUndefined();
  });

  it('of one family are told apart by their hashes alone', () => {
    const keys = of(`team:${hashOf(key)},Team:${hashOf(other)}`);
    expect(keys.find(key)?.familyId).toBe('team');
    expect(keys.find(other)?.familyId).toBe('team');
  });

  it('that replace one without a family go on as it', () => {
    const family = hashOf(key).slice(0, 16);
    const keys = of(`${hashOf(key)},${family}:${hashOf(other)}`);
    expect(keys.find(other)?.familyId).toBe(keys.find(key)?.familyId);
  });

  it('are none for an empty text, and then nothing is found', () => {
    expect(of(' ').size).toBe(0);
    expect(of('').find(key)).toBeUndefined();
  });

  it('of fewer than 32 characters are never found, though their hash be there', () => {
    const short = 's'.repeat(31);
    expect(of(hashOf(short)).find(short)).toBeUndefined();
  });

  it.each([
    ['a raw key', key, 'entry 1'],
    ['an empty entry', `${hashOf(key)},`, 'entry 2'],
    ['a strange family', `a b:${hashOf(key)}`, 'entry 1'],
    ['a key twice', `${hashOf(key)},x:${hashOf(key)}`, 'twice'],
  ])('are refused for %s, without repeating it', (_, text, said) => {
    expect(() => of(text)).toThrow(said);
    expect(() => of(text)).not.toThrow(new RegExp(key));
  });
});
