import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { effectiveScope, type Scope } from './caller.ts';
import { checkGrant, checkOwnChange, checkOwner, mayGrant, rightsOf } from './member-rights.ts';
import { mayDo, permissionsOf, ROLES, type Role } from './permissions.ts';

const none: Scope = { departments: [], canReadSensitive: false, unrestricted: false };
const as = (...roles: Role[]) => rightsOf({ roles, scope: none });
const forbidden = expect.objectContaining({ code: 'FORBIDDEN' });

describe('a grant', () => {
  it('of roles is within the rights of those who have all their permissions', () => {
    const grantable = (role: Role) => ROLES.filter((granted) => mayGrant(as(role), { roles: [granted] }));
    expect(grantable('owner')).toEqual(ROLES);
    expect(grantable('admin')).toEqual(ROLES.filter((role) => role !== 'owner'));
    // A contributor may do less than a risk manager, but keeps evidence as well as they do.
    expect(grantable('risk_manager')).toEqual(['risk_manager', 'contributor', 'viewer', 'partner_read']);
    expect(grantable('auditor')).toEqual(['auditor', 'viewer', 'partner_read']);
    // These roles see every row; a viewer does not.
    expect(grantable('viewer')).toEqual(['viewer']);
    expect(grantable('partner_read')).toEqual(['partner_read']);
  });

  it.each<[string, Scope, boolean]>([
    ['departments of their own', { ...none, departments: ['ops'] }, true],
    ['another department', { ...none, departments: ['ops', 'hr'] }, false],
    ['every row', { ...none, unrestricted: true }, false],
    ['sensitive rows', { ...none, canReadSensitive: true }, false],
  ])('of a scope with %s', (_what, scope, may) => {
    const rights = rightsOf({ roles: ['viewer'], scope: { ...none, departments: ['ops', 'it'] } });
    expect(mayGrant(rights, { scope })).toBe(may);
    expect(mayGrant(as('admin'), { scope })).toBe(true);
    if (!may) expect(() => checkGrant(rights, { scope })).toThrow(forbidden);
  });

  it('of sensitive rows counts for a partner too, whose role does not read them yet', () => {
    const grant = { roles: ['partner_read'] as const, scope: { ...none, canReadSensitive: true } };
    expect(mayGrant(as('auditor'), grant)).toBe(false);
    expect(mayGrant(as('owner'), grant)).toBe(true);
  });
});

it.each<[Role, boolean]>([
  ['owner', true],
  ['admin', false],
])('%s may change owners: %s', (role, may) => {
  const change = () => checkOwner(as(role), ['viewer', 'owner']);
  if (may) expect(change).not.toThrow();
  else expect(change).toThrow(forbidden);
  expect(() => checkOwner(as(role), ['admin'])).not.toThrow();
});

describe('properties', () => {
  const anyRoles = fc.subarray([...ROLES]);
  const anyScope = fc.record({
    departments: fc.subarray(['ops', 'it', 'hr']),
    canReadSensitive: fc.boolean(),
    unrestricted: fc.boolean(),
  });
  const anyGrant = fc.record({ roles: anyRoles, scope: anyScope });

  it('who gets a grant, and no more, may do and see nothing that the granter may not', () => {
    fc.assert(
      fc.property(anyGrant, anyGrant, (granter, granted) => {
        const rights = rightsOf(granter);
        fc.pre(mayGrant(rights, granted));
        const may = (permission: string) =>
          mayDo(rights.roles, permission) || (permission === 'partner:read' && mayDo(rights.roles, 'risk:read'));
        expect(permissionsOf(granted.roles).filter((permission) => !may(permission))).toEqual([]);
        const seen = effectiveScope(granted.roles, granted.scope);
        expect(seen.unrestricted && !rights.scope.unrestricted).toBe(false);
        expect(seen.canReadSensitive && !rights.scope.canReadSensitive).toBe(false);
        const hidden = seen.departments.filter((one) => !rights.scope.departments.includes(one));
        expect(rights.scope.unrestricted || hidden.length === 0).toBe(true);
        // Nor does it help to grant it on.
        expect(mayGrant(rights, { roles: granted.roles })).toBe(true);
      }),
    );
  });

  it('what people set for themselves, in any number of steps, never raises them', () => {
    const isAllowed = (...[set, grant]: Parameters<typeof checkOwnChange>) => {
      try {
        checkOwnChange(set, grant);
        return true;
      } catch {
        return false;
      }
    };
    fc.assert(
      fc.property(anyGrant, anyGrant, anyGrant, (first, second, third) => {
        expect(isAllowed(first, first)).toBe(true);
        fc.pre(isAllowed(first, second));
        const [before, after] = [rightsOf(first), rightsOf(second)];
        expect(after.roles.filter((role) => !before.roles.includes(role))).toEqual([]);
        expect(after.scope.unrestricted && !before.scope.unrestricted).toBe(false);
        fc.pre(isAllowed(second, third));
        expect(isAllowed(first, third)).toBe(true);
      }),
      { maxSkipsPerRun: 10_000 },
    );
  });

  it('people may lower each part of what is set for them', () => {
    const set = { roles: ['admin', 'viewer'] as const, scope: { ...none, departments: ['ops'], unrestricted: true } };
    for (const grant of [
      { roles: [] },
      { roles: ['admin'] as const },
      { scope: none },
      { scope: { ...none, departments: ['it'] } },
    ])
      expect(() => checkOwnChange(set, grant)).not.toThrow();
    for (const grant of [{ roles: ['auditor'] as const }, { scope: { ...none, canReadSensitive: true } }])
      expect(() => checkOwnChange(set, grant)).toThrow(forbidden);
  });
});
