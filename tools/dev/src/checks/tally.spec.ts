import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { workspaceRoot } from '../workspace.ts';
import {
  afterRetry,
  closingLine,
  failedFilesOf,
  failedTestsOf,
  filesOf,
  nothing,
  oneFailure,
  slowestFiles,
  sum,
  tallyOf,
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

  it('names the failed tests with their file', () => {
    const tests = [
      { ancestorTitles: ['a list'], title: 'is sorted', status: 'failed' },
      { ancestorTitles: ['a list'], title: 'ends', status: 'passed' },
    ];
    const testResults = [
      { name: join(workspaceRoot, 'libs/x/src/a.spec.ts'), assertionResults: tests },
      { name: join(workspaceRoot, 'libs/x/src/b.spec.ts'), assertionResults: [] },
    ];
    expect(failedTestsOf({ testResults })).toEqual(['libs/x/src/a.spec.ts: a list > is sorted']);
  });

  it('lists the failed files', () => {
    const testResults = [
      { name: '/a.spec.ts', status: 'passed' },
      { name: '/b.spec.ts', status: 'failed' },
    ];
    expect(failedFilesOf({ testResults })).toEqual(['/b.spec.ts']);
    expect(failedFilesOf(undefined)).toEqual([]);
  });

  it('lists the ten files that took longest', () => {
    const name = (number: number): string => join(workspaceRoot, `libs/x/src/${number}.spec.ts`);
    const testResults = Array.from({ length: 12 }, (_, number) => ({
      name: name(number),
      status: 'passed',
      startTime: 1_000,
      endTime: 1_000 + number * 100,
    }));
    const lines = slowestFiles(filesOf({ testResults })).split('\n');
    expect(lines).toHaveLength(11);
    expect([lines[0], lines[9], lines[10]]).toEqual([
      '    1.1 s  libs/x/src/11.spec.ts',
      '    0.2 s  libs/x/src/2.spec.ts',
      '',
    ]);
    expect(slowestFiles(filesOf(undefined))).toBe('');
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
});
