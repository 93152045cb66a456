import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { testClock, testIssuer, type TestIssuer } from '@sealgate/testing';
import { accessTokens, adminPeople, type AccessTokens } from './index.ts';

const AUDIENCE = 'https://api.example.com';
const ADMIN = `${AUDIENCE}/admin`;
const clock = testClock();
let provider: TestIssuer;
let other: TestIssuer;
let tokens: AccessTokens;

beforeAll(async () => {
  provider = await testIssuer({ audience: ADMIN, now: clock.now });
  other = await testIssuer({ audience: ADMIN, now: clock.now });
  tokens = accessTokens({
    issuers: [{ issuer: provider.issuer, audience: { api: [AUDIENCE], admin: [ADMIN] } }],
    now: clock.now,
    log: { info: () => undefined, warn: () => undefined },
  });
});
afterAll(async () => {
  await provider.stop();
  await other.stop();
});

describe('people on an admin listener', () => {
  const rules = [
    { claim: 'groups', value: 'operators', role: 'operator' },
    { claim: '/realm_access/roles', value: 'look', role: 'viewer' },
  ] as const;
  const find = async (claims: object, given: Parameters<typeof adminPeople>[1] = rules) =>
    adminPeople(tokens, given)!(await provider.token({ sub: 'eve', aud: ADMIN, ...claims }));

  it('get the roles of their claims, the strongest first', async () => {
    const actor = `oidc:${provider.issuer}#eve`;
    const identity = { issuer: provider.issuer, subject: 'eve' };
    expect(await find({ groups: ['a', 'operators'] })).toEqual({
      actor,
      claims: expect.objectContaining({ groups: ['a', 'operators'], sub: 'eve' }),
      roles: ['operator'],
      identity,
      name: undefined,
    });
    expect(await find({ groups: 'operators' })).toMatchObject({
      actor,
      roles: ['operator'],
      identity,
      name: undefined,
    });
    expect(await find({ realm_access: { roles: ['look'] } })).toMatchObject({
      actor,
      roles: ['viewer'],
      identity,
      name: undefined,
    });
    expect(await find({ groups: ['operators'], realm_access: { roles: ['look'] } })).toMatchObject({
      actor,
      roles: ['operator', 'viewer'],
      identity,
      name: undefined,
    });
  });

  it.each<[string, object, string | undefined]>([
    ['the name', { name: 'Eve Müller', email: 'eve@example.com' }, 'Eve Müller'],
    ['the address where there is no name', { email: 'eve@example.com' }, 'eve@example.com'],
    ['the address where the name is blank', { name: '  ', email: 'eve@example.com' }, 'eve@example.com'],
    ['the user name', { name: 7, preferred_username: 'eve' }, 'eve'],
    ['nothing that spoils a page', { name: 'Eve\nSystem', email: 'e'.repeat(201) }, undefined],
  ])('are called %s of the token', async (_what, claims, name) => {
    expect(await find({ groups: 'operators', ...claims })).toMatchObject({ name });
  });

  it.each<[string, object]>([
    ['no claim', {}],
    ['another value', { groups: ['operator'] }],
    ['a value that contains it', { groups: 'operators,else' }],
    ['an object', { groups: { operators: true } }],
    ['a dangling pointer', { realm_access: null }],
  ])('get no role with %s', async (_what, claims) => {
    const refused = { tokenRefused: 'no_role', issuer: provider.issuer, subject: 'eve' };
    expect(await find(claims)).toEqual({ refused });
  });

  it('get no role with a token for the public listener', async () => {
    expect(await find({ groups: 'operators', aud: AUDIENCE })).toMatchObject({ refused: { tokenRefused: 'audience' } });
  });

  it('get no role if the provider left their groups out, and the log says so', async () => {
    const overage = {
      _claim_names: { groups: 'src1' },
      _claim_sources: { src1: { endpoint: 'https://graph.example' } },
    };
    expect(await find(overage)).toMatchObject({ refused: { tokenRefused: 'claim_elsewhere' } });
  });

  it('get no role without rules', () => {
    expect(adminPeople(tokens, [])).toBeUndefined();
  });

  it("get no role from another issuer's claims, without a token and with an invalid one", async () => {
    const reasonOf = async (found: ReturnType<typeof find>) =>
      ((await found) as { refused?: { tokenRefused: string } }).refused?.tokenRefused;
    const elsewhere = [{ ...rules[0], issuer: other.issuer }];
    expect(await reasonOf(find({ groups: 'operators' }, elsewhere))).toBe('no_role');
    expect(await reasonOf(adminPeople(tokens, rules)!('a-static-token') as never)).toBe('malformed');
    expect(await reasonOf(find({ groups: 'operators', exp: 1 }))).toBe('expired');
  });
});
