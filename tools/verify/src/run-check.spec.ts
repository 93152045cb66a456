import { describe, expect, it } from '@jest/globals';
import { reportText } from './run-check.ts';

describe('the text of a report', () => {
  it('is aligned in columns, whatever the length of step names', () => {
    const steps = [
      { step: 'leaf', status: 'ok', detail: 'It is.' },
      { step: 'declaration signature', status: 'failed', detail: 'It is not.', where: 'a.json', found: '2' },
    ] as const;
    const text = reportText({ verified: false, conclusion: 'No.', steps, notes: [] }, []);
    expect(text.split('\n')).toEqual([
      'ok      leaf                   It is.',
      'FAILED  declaration signature  It is not.',
      '                               where:    a.json',
      '                               found:    2',
      'NOT VERIFIED. No.',
      '',
    ]);
  });
});
