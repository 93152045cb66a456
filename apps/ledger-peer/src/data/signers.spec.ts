import { describe, expect, it } from '@jest/globals';
import { familiesWithoutKey, signersOf } from './signers.ts';

const identities = ['clerk', 'approver', 'app'].map((name) => ({ name, mspId: 'Org1MSP', mspFolder: name }));
const callers = [
  { keyFamily: 'clerks', identity: 'clerk' },
  { keyFamily: '0123456789abcdef', identity: 'approver' },
  { claim: 'groups', value: 'clerks', issuer: undefined, identity: 'approver' },
];

describe('who signs for a caller', () => {
  it('is the identity of their key family, else the default, else nobody', () => {
    const { ofKeyFamily } = signersOf({ callers, identities, defaultIdentity: 'app' });
    expect(['clerks', '0123456789abcdef', 'guests'].map(ofKeyFamily)).toEqual(['clerk', 'approver', 'app']);
    expect(signersOf({ callers, identities, defaultIdentity: undefined }).ofKeyFamily('guests')).toBeUndefined();
  });

  it('is the identity of the first claim that their access token has, of its issuer, else the default', () => {
    const [issuer, other] = ['https://id.example', 'https://other.example'];
    const rules = [
      { claim: '/realm/roles', value: 'audit', issuer, identity: 'approver' },
      { claim: 'groups', value: 'clerks', issuer: undefined, identity: 'clerk' },
    ];
    const { ofToken, has } = signersOf({ callers: rules, identities, defaultIdentity: undefined });
    expect(ofToken({ issuer, claims: { groups: ['a', 'clerks'], realm: { roles: 'audit' } } })).toBe('approver');
    expect(ofToken({ issuer: other, claims: { groups: 'clerks', realm: { roles: 'audit' } } })).toBe('clerk');
    expect(ofToken({ issuer: other, claims: { realm: { roles: 'audit' } } })).toBeUndefined();
    expect(ofToken(undefined)).toBeUndefined();
    expect(signersOf({ callers: rules, identities, defaultIdentity: 'app' }).ofToken(undefined)).toBe('app');
    expect([has('clerk'), has('toString')]).toEqual([true, false]);
  });

  it('is not decided by a family that no key has: such families are named', () => {
    expect(familiesWithoutKey({ callers }, ['clerks', 'guests'])).toEqual(['0123456789abcdef']);
    expect(familiesWithoutKey({ callers }, ['clerks', '0123456789abcdef'])).toEqual([]);
  });
});
