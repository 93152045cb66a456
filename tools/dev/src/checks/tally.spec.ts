import { describe, expect, it } from '@jest/globals';
import { closingLine, nothing, oneFailure, sum, tallyOf } from './tally.ts';

describe('the tally of a run', () => {
  it('adds up what each part counted', () => {
    const unit = { passed: 10, failed: 1, skipped: 0 };
    const integration = { passed: 5, failed: 0, skipped: 2 };
    expect(sum([unit, oneFailure, nothing, integration])).toEqual({ passed: 15, failed: 2, skipped: 2 });
    expect(sum([])).toEqual({ passed: 0, failed: 0, skipped: 0 });
  });

  it('closes with one plain line, which names skipped tests only where there are any', () => {
    expect(closingLine({ passed: 12, failed: 0, skipped: 0 })).toBe('12 passed, 0 failed');
    expect(closingLine({ passed: 12, failed: 3, skipped: 4 })).toBe('12 passed, 3 failed, 4 skipped');
  });

  it('reads the report of jest', () => {
    const report = {
      numPassedTests: 7,
      numFailedTests: 2,
      numPendingTests: 3,
      numTodoTests: 1,
      numRuntimeErrorTestSuites: 1,
    };
    expect(tallyOf(report)).toEqual({ passed: 7, failed: 3, skipped: 4 });
  });

  it.each([[undefined], [null], ['text']])('counts %p in place of a report as a failure', (report) => {
    expect(tallyOf(report)).toEqual({ passed: 0, failed: 1, skipped: 0 });
  });
});
