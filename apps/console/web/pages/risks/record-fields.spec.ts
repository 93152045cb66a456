import { describe, expect, it } from '@jest/globals';
import { bodyOf, differencesOf, draftOf, mergedOf, missingOf } from './record-fields.ts';
import { fieldsOf } from './record-schemas.ts';

const fields = fieldsOf('risks', 'change');
const risk = {
  title: 'Fire',
  category: 'security',
  description: null,
  inherent: { likelihood: 2, impact: 5, score: 10, level: 'high' },
  current: { likelihood: 1, impact: 5, score: 5, level: 'medium' },
  residual: null,
  status: 'accepted',
  acceptance: { expiresAt: '2026-06-01T00:00:00.000Z', acceptedBy: 'per_1' },
  sensitive: false,
  controlIds: ['ctl_1'],
  ownerId: 'per_1',
};
const before = draftOf(fields, risk);

describe('the body of a change', () => {
  it('contains only changed members', () => {
    expect(bodyOf(fields, before, before)).toEqual({});
    expect(bodyOf(fields, { ...before, title: 'Flood', controlIds: [] }, before)).toEqual({
      title: 'Flood',
      controlIds: [],
    });
  });

  it('has no score and no level, which the service computes', () => {
    const draft = { ...before, residual: { likelihood: 1, impact: 2 } };
    expect(bodyOf(fields, draft, before)).toEqual({ residual: { likelihood: 1, impact: 2 } });
    expect(before['inherent']).toEqual({ likelihood: 2, impact: 5 });
  });

  it('treats a rating with reordered members as unchanged', () => {
    expect(bodyOf(fields, { ...before, inherent: { impact: 5, likelihood: 2 } }, before)).toEqual({});
  });

  it('sends null for cleared members, and omits those that cannot be null', () => {
    expect(bodyOf(fields, { ...before, ownerId: null, description: null }, { ...before, description: 'x' })).toEqual({
      description: null,
    });
  });

  it('wraps the end of an acceptance', () => {
    const draft = { ...before, acceptance: '2027-01-01T00:00:00.000Z' };
    expect(bodyOf(fields, draft, before)).toEqual({ acceptance: { expiresAt: '2027-01-01T00:00:00.000Z' } });
  });
});

describe('the body of a new record', () => {
  it('omits empty fields', () => {
    const made = fieldsOf('risks', 'new');
    const draft = { ...draftOf(made, {}), title: 'Fire', category: 'x', inherent: { likelihood: 1, impact: 1 } };
    expect(bodyOf(made, draft, undefined)).toEqual({
      title: 'Fire',
      category: 'x',
      inherent: { likelihood: 1, impact: 1 },
    });
    expect(Object.keys(missingOf(made, draftOf(made, {})))).toEqual(['title', 'category', 'inherent']);
  });
});

describe('two versions', () => {
  const mine = { ...before, title: 'Mine', description: 'mine' };
  const theirs = { ...before, title: 'Theirs', category: 'theirs' };
  const differences = differencesOf(fields, { before, mine, theirs });

  it('differ in members that either side changed, and conflict in those that both did', () => {
    expect(differences.map(({ field, clashes }) => [field.name, clashes])).toEqual([
      ['title', true],
      ['category', false],
      ['description', false],
    ]);
  });

  it('merge into theirs with the chosen members of mine', () => {
    const merged = mergedOf(theirs, differences, new Set(['title', 'description']));
    expect(merged).toEqual({ ...before, title: 'Mine', category: 'theirs', description: 'mine' });
    expect(bodyOf(fields, merged, theirs)).toEqual({ title: 'Mine', description: 'mine' });
  });

  it('do not differ if both changed to the same value', () => {
    expect(differencesOf(fields, { before, mine, theirs: mine })).toEqual([]);
  });
});
