import { describe, expect, it } from '@jest/globals';
import { rowsOfRoles } from './rows-of-roles.ts';

describe('the scope of a person beside their roles', () => {
  it.each(['owner', 'admin', 'risk_manager'] as const)('makes no difference for the role %s', (role) => {
    for (const roles of [[role], ['viewer', role]] as const) {
      const { decided, allRows, isSensitiveAsked } = rowsOfRoles(roles);
      expect(decided).toMatch(/see all rows, sensitive ones too/);
      expect({ allRows, isSensitiveAsked }).toEqual({ allRows: undefined, isSensitiveAsked: false });
    }
  });

  it('is about sensitive rows alone for auditors', () => {
    const { decided, allRows, isSensitiveAsked } = rowsOfRoles(['auditor', 'contributor']);
    expect(decided).toMatch(/all departments/);
    expect({ allRows, isSensitiveAsked }).toEqual({ allRows: undefined, isSensitiveAsked: true });
  });

  it('is all of it for contributors and viewers, who are told what it lets them do', () => {
    expect(rowsOfRoles(['viewer'])).toMatchObject({ isSensitiveAsked: true });
    expect(rowsOfRoles(['viewer']).allRows).not.toMatch(/change/);
    expect(rowsOfRoles(['viewer', 'contributor']).allRows).toMatch(
      /change the risks and evidence, of every department/,
    );
    expect(rowsOfRoles(['viewer']).decided).toBeUndefined();
  });

  it('makes no difference for a partner alone, nor without a role', () => {
    expect(rowsOfRoles(['partner_read'])).toEqual({
      decided: 'Partners read the metadata of all rows but sensitive ones.',
      isSensitiveAsked: false,
    });
    expect(rowsOfRoles([])).toEqual({ decided: 'Without a role they see no rows.', isSensitiveAsked: false });
  });
});
