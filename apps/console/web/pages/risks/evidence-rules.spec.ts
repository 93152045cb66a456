import { describe, expect, it } from '@jest/globals';
import { actorOf, BOARD, stepsOf, type Evidence, type EvidenceState } from './evidence-rules.ts';
import { valuesOf } from './record-schemas.ts';

const steps = (state: EvidenceState, personId = 'per_other') =>
  stepsOf({ state, collectedBy: 'per_collector' }, personId).map(({ to }) => to);

describe('the evidence board', () => {
  it('has a column for each state', () => {
    expect(BOARD.map(({ state }) => state).toSorted()).toEqual(valuesOf('EvidenceState').toSorted());
  });

  it('names who has to act', () => {
    const actor = (state: EvidenceState) => actorOf({ state, ownerId: 'owner', collectedBy: 'collector' } as Evidence);
    expect(actor('requested')).toBe('owner');
    expect(actor('collected')).toBe('collector');
    expect(actor('in_review')).toBeUndefined();
    expect(actor('expiring')).toBe('owner');
    expect(actor('approved')).toBeUndefined();
  });
});

describe('the offered transitions', () => {
  it.each<[EvidenceState, readonly EvidenceState[]]>([
    ['requested', ['collected', 'not_applicable']],
    ['collected', ['in_review', 'revoked']],
    ['in_review', ['approved', 'rejected', 'revoked']],
    ['rejected', ['collected', 'revoked']],
    ['approved', ['collected', 'revoked']],
    ['expiring', ['collected', 'revoked']],
    ['expired', ['collected', 'revoked']],
    ['superseded', []],
    ['revoked', []],
    ['not_applicable', []],
  ])('from %s are %j', (state, expected) => expect(steps(state)).toEqual(expected));

  it('do not let the collector review', () => {
    expect(steps('in_review', 'per_collector')).toEqual(['revoked']);
  });
});
