import { describe, expect, it } from '@jest/globals';
import { changedPolicy } from './manage-policies.ts';
import type { PolicyRules } from './policy.ts';

describe('a policy version', () => {
  const draft = { status: 'draft' as const, rules: null };
  it('goes from draft to active to retired only', () => {
    expect(changedPolicy(draft, { status: 'active' }).status).toBe('active');
    expect(changedPolicy({ ...draft, status: 'active' }, { status: 'retired' }).status).toBe('retired');
    for (const [from, to] of [
      ['draft', 'retired'],
      ['active', 'draft'],
      ['retired', 'active'],
      ['retired', 'draft'],
    ] as const) {
      expect(() => changedPolicy({ ...draft, status: from }, { status: to })).toThrow(
        expect.objectContaining({ code: 'INVALID_STATE_TRANSITION', members: { current_status: from } }),
      );
    }
  });

  it('accepts its own status again, and keeps its rules once it has left draft', () => {
    expect(changedPolicy({ ...draft, status: 'retired' }, { status: 'retired' })).toEqual({
      ...draft,
      status: 'retired',
    });
    const rules: PolicyRules = { rules: [], default: { decision: 'refer', reason_codes: [] } };
    expect(changedPolicy(draft, { rules }).rules).toBe(JSON.stringify(rules));
    for (const status of ['active', 'retired'] as const) {
      expect(() => changedPolicy({ status, rules: null }, { rules })).toThrow(
        expect.objectContaining({ code: 'IN_USE' }),
      );
    }
    // A client may send the members in another order, and rules that only an older version took.
    const sent = { default: { reason_codes: [], decision: 'refer' as const }, rules: [] };
    for (const stored of [JSON.stringify(rules), JSON.stringify({ ...rules, older: true })]) {
      const again = stored.includes('older') ? { ...sent, older: true } : sent;
      const known = { status: 'active' as const, rules: stored };
      expect(changedPolicy(known, { rules: again, status: 'retired' })).toEqual({ status: 'retired', rules: stored });
    }
  });
});
