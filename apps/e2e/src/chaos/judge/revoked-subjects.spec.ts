import { describe, expect, it } from '@jest/globals';
import type { Asked } from '../history.ts';
import { revokedSubjects } from './revoked-subjects.ts';
import { asked, verdictOf } from './testing/lines.ts';

const about = (act: string, startedMs: number, endedMs: number, more: Partial<Asked> = {}): Asked =>
  asked({
    surface: 'case-gate',
    as: 'live',
    status: 200,
    text: '{}',
    act,
    startedMs,
    endedMs,
    sent: { subject: 'subj_1' },
    ...more,
  });
const allow = (startedMs: number, endedMs: number): Asked =>
  about('check', startedMs, endedMs, { text: '{"decision":"allow","allow":true}' });
const deny = (startedMs: number, endedMs: number): Asked =>
  about('check', startedMs, endedMs, { text: '{"decision":"deny","allow":false}' });

const broken = async (...lines: Asked[]) => (await verdictOf(revokedSubjects(), lines)).broken;

describe('no allow for a revoked subject', () => {
  it('is kept by allows between seal and revocation, and those that were under way with either', async () => {
    const lines = [
      deny(0, 1),
      about('seal', 10, 20),
      allow(5, 15),
      allow(30, 40),
      allow(49, 70),
      about('revoke', 45, 50),
      deny(51, 52),
    ];
    expect(await verdictOf(revokedSubjects(), lines)).toMatchObject({ judged: 5, broken: [] });
  });

  it('is broken by an allow that began after the revocation was answered, whichever line comes first', async () => {
    const breach = [expect.stringContaining('live subj_1 was let in, and line')];
    expect(await broken(about('seal', 0, 1), about('revoke', 45, 50), allow(51, 52))).toEqual(breach);
    expect(await broken(about('seal', 0, 1), allow(51, 52), about('revoke', 45, 50))).toEqual(breach);
  });

  it('does not count a revocation that was not answered', async () => {
    expect(await broken(about('seal', 0, 1), about('revoke', 45, 50, { status: 503 }), allow(51, 52))).toEqual([]);
  });

  it('is broken by an allow before the seal was asked for, or without one', async () => {
    expect(await broken(allow(1, 9), about('seal', 10, 20))).toEqual([
      'line 1: live subj_1 was let in before its seal was asked for',
    ]);
    expect(await broken(allow(1, 9))).toHaveLength(1);
  });

  it.each(['{}', '{"decision":"allow","allow":false}', '{"decision":"deny","allow":true}', 'Bad gateway'])(
    'is broken by %s, which is neither',
    async (text) => {
      expect(await broken(about('seal', 0, 1), about('check', 2, 3, { text }))).toEqual([
        expect.stringContaining('line 2: a check'),
      ]);
    },
  );

  it('is broken by an allow with another status than 200', async () => {
    expect(await broken(about('seal', 0, 1), { ...allow(2, 3), status: 503 })).toHaveLength(1);
  });
});
