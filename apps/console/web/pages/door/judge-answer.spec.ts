import { describe, expect, it } from '@jest/globals';
import { deny, judgeAnswer, subjectIn } from './judge-answer.ts';

const question = { subjectRef: 'subj_ada', venueId: 'hall' };

const allow = {
  decision: 'allow',
  allow: true,
  decision_id: 'gd_1',
  subject_ref: 'subj_ada',
  venue_id: 'hall',
  policy_version: 'v1',
  reason_codes: ['ELIGIBLE'],
  ledger_record_id: 'ledger_rec_1',
  evaluated_at: '2026-01-01T00:00:00.000Z',
  valid_until: null as unknown,
  fail_closed: false,
};

const judged = (change: object, status = 200) => judgeAnswer(question, { status, body: { ...allow, ...change } });

describe('the door', () => {
  it('opens only for an allow of exactly this request', () => {
    expect(judged({})).toEqual({
      decision: 'allow',
      code: 'ELIGIBLE',
      reason: 'May enter.',
      advice: undefined,
      decisionId: 'gd_1',
    });
    expect(judged({ valid_until: '2026-01-01T00:00:00.001Z' }).decision).toBe('allow');
  });

  it.each<[string, object]>([
    ['a deny that says it allows', { decision: 'deny' }],
    ['an allow that says it does not', { allow: false }],
    ['a truthy allow', { allow: 'true' }],
    ['another subject', { subject_ref: 'subj_eve' }],
    ['another venue', { venue_id: 'vault' }],
    ['no reason', { reason_codes: [] }],
    ['two reasons', { reason_codes: ['ELIGIBLE', 'ELIGIBILITY_REVOKED'] }],
    ['another reason', { reason_codes: ['ELIGIBILITY_REVOKED'] }],
    ['reasons as a text', { reason_codes: 'ELIGIBLE' }],
    ['an answer that failed closed', { fail_closed: true }],
    ['no word on failing closed', { fail_closed: undefined }],
    ['no decision id', { decision_id: '' }],
    ['no time', { evaluated_at: 'now' }],
    ['an end before its time', { valid_until: '2026-01-01T00:00:00.000Z' }],
    ['an end that is no time', { valid_until: 'never' }],
    ['a missing end', { valid_until: undefined }],
  ])('stays shut for %s', (_, change) => {
    expect(judged(change).decision).toBe('deny');
  });

  it.each([201, 202, 204, 301, 304, 400, 401, 403, 429, 500, 503])(
    'stays shut for an allow under status %d',
    (status) => {
      expect(judged({}, status).decision).toBe('deny');
    },
  );

  it.each([undefined, null, true, 'allow', 1, [allow], []])('stays shut for a body that is no object: %p', (body) => {
    expect(judgeAnswer(question, { status: 200, body })).toEqual(deny('BAD_ANSWER'));
  });

  it('shows the reason of the gate as a sentence', () => {
    const body = {
      ...allow,
      decision: 'deny',
      allow: false,
      reason_codes: ['ELIGIBILITY_REVOKED'],
      decision_id: 'gd_2',
    };
    expect(judgeAnswer(question, { status: 200, body })).toMatchObject({
      code: 'ELIGIBILITY_REVOKED',
      reason: 'The permission to enter was revoked.',
      decisionId: 'gd_2',
    });
  });

  it('distinguishes a refused key from a busy service', () => {
    expect(judgeAnswer(question, { status: 401, body: undefined }).code).toBe('KEY_REFUSED');
    expect(judgeAnswer(question, { status: 429, body: { code: 'RATE_LIMITED', status: 429 } }).code).toBe(
      'RATE_LIMITED',
    );
    expect(judgeAnswer(question, { status: 502, body: undefined }).code).toBe('BAD_ANSWER');
  });

  it('shows unknown codes, and nothing that is not a code', () => {
    const denied = (code: unknown) =>
      judgeAnswer(question, { status: 200, body: { ...allow, decision: 'deny', allow: false, reason_codes: [code] } });
    expect(denied('SOMETHING_NEW')).toMatchObject({ code: 'SOMETHING_NEW', reason: 'Refused.' });
    for (const code of ['ELIGIBLE', 'constructor', '__proto__', '<b>', 7]) expect(denied(code).code).toBe('BAD_ANSWER');
  });
});

describe('a typed or scanned code', () => {
  it.each([
    ['subj_ada', 'subj_ada'],
    ['  subj_ada\n', 'subj_ada'],
    ['https://example.com/s/subj_ada?x=1', 'subj_ada'],
  ])('%p contains the subject %s', (text, subject) => expect(subjectIn(text)).toBe(subject));

  it.each([
    '',
    'ada',
    'subj_',
    'subj_ada subj_eve',
    'xsubj_ada',
    `subj_${'a'.repeat(65)}`,
    `subj_a ${'x'.repeat(3000)}`,
  ])('%p contains no single subject', (text) => expect(subjectIn(text)).toBeUndefined());
});
