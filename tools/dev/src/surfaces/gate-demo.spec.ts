import { describe, expect, it } from '@jest/globals';
import { AFTERWARDS, demoCases, demoChecks, VENUES } from './gate-demo.ts';

const from = Date.parse('2030-05-20T12:00:00.000Z');

describe('the demo cases', () => {
  it('are the same each time, one for each subject', () => {
    expect(demoCases(from)).toEqual(demoCases(from));
    const subjects = demoCases(from).map(({ subject }) => subject);
    expect(new Set(subjects).size).toBe(subjects.length);
  });

  it('cover every final state', () => {
    expect([...new Set(demoCases(from).map(({ ending }) => ending))].sort()).toEqual([
      'approved',
      'attached',
      'declined',
      'received',
      'referred',
      'sealed',
      'withdrawn',
    ]);
  });

  it('have a sealed approval if an operator acts afterwards', () => {
    const sealed = demoCases(from)
      .filter(({ ending }) => ending === 'sealed')
      .map(({ subject }) => subject);
    for (const { subject } of AFTERWARDS) expect(sealed).toContain(subject);
  });

  it('are checked at every venue, including unknown subjects and venues', () => {
    const checks = demoChecks();
    const doors = new Set(checks.map(({ venue_id: id }) => id));
    for (const { venue_id: id } of VENUES) expect(doors).toContain(id);
    expect(doors).toContain('no-such-door');
    expect(checks.some(({ subject_ref: subject }) => subject.startsWith('subj_stranger_'))).toBe(true);
  });
});
