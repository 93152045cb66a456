import { describe, expect, it } from '@jest/globals';
import {
  afterRetry,
  clearTallies,
  closingLine,
  failedFilesOf,
  nothing,
  oneFailure,
  sum,
  talliesOf,
  tallyOf,
  writeTally,
} from './tally.ts';

describe('the tally of a run', () => {
  it('adds up the parts', () => {
    const unit = { passed: 10, failed: 1, skipped: 0, flaky: 1 };
    const integration = { passed: 5, failed: 0, skipped: 2, flaky: 2 };
    expect(sum([unit, oneFailure, nothing, integration])).toEqual({ passed: 15, failed: 2, skipped: 2, flaky: 3 });
    expect(sum([])).toEqual(nothing);
  });

  it('is printed as one line, with skipped and flaky tests only if there are any', () => {
    expect(closingLine({ ...nothing, passed: 12 })).toBe('12 passed, 0 failed');
    expect(closingLine({ passed: 12, failed: 3, skipped: 4, flaky: 0 })).toBe('12 passed, 3 failed, 4 skipped');
    expect(closingLine({ passed: 12, failed: 0, skipped: 0, flaky: 1 })).toBe('12 passed, 0 failed, 1 flaky');
  });

  it('counts tests that passed on the retry as flaky, and the others as failed', () => {
    const first = { passed: 90, failed: 3, skipped: 1, flaky: 0 };
    const second = { passed: 20, failed: 1, skipped: 0, flaky: 0 };
    expect(afterRetry(first, second)).toEqual({ passed: 92, failed: 1, skipped: 1, flaky: 2 });
    expect(afterRetry(first, { ...nothing, failed: 5 })).toEqual({ passed: 90, failed: 5, skipped: 1, flaky: 0 });
  });

  it('lists the failed files', () => {
    const testResults = [
      { name: '/a.spec.ts', status: 'passed' },
      { name: '/b.spec.ts', status: 'failed' },
    ];
    expect(failedFilesOf({ testResults })).toEqual(['/b.spec.ts']);
    expect(failedFilesOf(undefined)).toEqual([]);
  });

  it('reads the report of jest', () => {
    const report = {
      numPassedTests: 7,
      numFailedTests: 2,
      numPendingTests: 3,
      numTodoTests: 1,
      numRuntimeErrorTestSuites: 1,
    };
    expect(tallyOf(report)).toEqual({ passed: 7, failed: 3, skipped: 4, flaky: 0 });
  });

  it.each([[undefined], [null], ['text']])('counts %p instead of a report as a failure', (report) => {
    expect(tallyOf(report)).toEqual(oneFailure);
  });

  it('is stored for each kind of tests and each project, until it is cleared', () => {
    const kind = `kind${process.pid}`;
    expect(talliesOf(kind)).toEqual([]);
    writeTally(kind, 'a', { ...nothing, passed: 2 });
    writeTally(kind, 'b', oneFailure);
    writeTally(kind, 'a', { ...nothing, passed: 3 });
    expect(sum(talliesOf(kind))).toEqual({ passed: 3, failed: 1, skipped: 0, flaky: 0 });
    expect(talliesOf(`${kind}x`)).toEqual([]);
    clearTallies(kind);
    expect(talliesOf(kind)).toEqual([]);
  });
});
