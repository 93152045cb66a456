import { describe, expect, it } from '@jest/globals';
import { familiesWithoutKey, signersOf } from './signers.ts';

const callers = [
  { keyFamily: 'clerks', identity: 'clerk' },
  { keyFamily: '0123456789abcdef', identity: 'approver' },
  { claim: 'groups', value: 'clerks', issuer: undefined, identity: 'approver' },
];

describe('who signs for a caller', () => {
  it('is the identity of their key family, else the default, else nobody', () => {
    const { ofKeyFamily } = signersOf({ callers, defaultIdentity: 'app' });
    expect(['clerks', '0123456789abcdef', 'guests'].map(ofKeyFamily)).toEqual(['clerk', 'approver', 'app']);
    expect(signersOf({ callers, defaultIdentity: undefined }).ofKeyFamily('guests')).toBeUndefined();
  });

  it('is not decided by a family that no key has: such families are named', () => {
    expect(familiesWithoutKey({ callers }, ['clerks', 'guests'])).toEqual(['0123456789abcdef']);
    expect(familiesWithoutKey({ callers }, ['clerks', '0123456789abcdef'])).toEqual([]);
  });
});
