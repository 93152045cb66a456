import { describe, expect, it } from '@jest/globals';
import { CASE_STATUSES, isOpen, move } from './case-states.ts';
import { chainEvent } from './case-record.ts';
import { canonicalHash } from '@sealgate/json';

/** Copied from the contract. */
const allowed = [
  'received in_review',
  'received withdrawn',
  'received expired',
  'in_review decided',
  'in_review withdrawn',
  'in_review expired',
  'decided sealing',
  'decided decided',
  'sealing sealed',
  'sealed decided',
];

describe('case states', () => {
  it('allow exactly these transitions, and a refusal names the current state', () => {
    for (const from of CASE_STATUSES) {
      for (const to of CASE_STATUSES) {
        if (allowed.includes(`${from} ${to}`)) expect(move(from, to)).toBe(to);
        else
          expect(() => move(from, to)).toThrow(
            expect.objectContaining({ code: 'INVALID_STATE_TRANSITION', members: { current_status: from } }),
          );
      }
    }
  });

  it('are open until a decision or an end', () => {
    expect(CASE_STATUSES.filter(isOpen)).toEqual(['received', 'in_review']);
  });
});

describe('a timeline', () => {
  it('hashes each event with the previous one', () => {
    const at = new Date('2026-01-01T00:00:00.000Z');
    const first = chainEvent(undefined, { event: 'a', actor: 'k', at, data: { x: 1 } });
    const { hash, ...rest } = first;
    expect(rest).toEqual({ seq: 1, at: at.toISOString(), event: 'a', actor: 'k', data: { x: 1 }, prev_hash: null });
    expect(hash).toBe(canonicalHash(rest));
    const second = chainEvent(first, { event: 'b', actor: 'k', at, data: {} });
    expect(second).toMatchObject({ seq: 2, prev_hash: hash });
  });
});
