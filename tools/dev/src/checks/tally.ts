import { relative } from 'node:path';
import { workspaceRoot } from '../workspace.ts';

/** The totals of a run: tests, plus one failure for each failed check without tests. */
export interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** Failed, and passed on the retry; included in `passed`. */
  readonly flaky: number;
}

export const nothing: Tally = { passed: 0, failed: 0, skipped: 0, flaky: 0 };
export const oneFailure: Tally = { ...nothing, failed: 1 };

export function sum(tallies: readonly Tally[]): Tally {
  return tallies.reduce(
    (total, { passed, failed, skipped, flaky }) => ({
      passed: total.passed + passed,
      failed: total.failed + failed,
      skipped: total.skipped + skipped,
      flaky: total.flaky + flaky,
    }),
    nothing,
  );
}

/** `12 passed, 0 failed`, then `, 3 skipped` and `, 1 flaky` if not zero. */
export function closingLine({ passed, failed, skipped, flaky }: Tally): string {
  const also = [
    [skipped, 'skipped'],
    [flaky, 'flaky'],
  ] as const;
  const named = also.filter(([count]) => count > 0).map(([count, name]) => `, ${count} ${name}`);
  return `${passed} passed, ${failed} failed${named.join('')}`;
}

/**
 * Combines a run of all files and a retry of the failed files: tests that passed on the retry count as passed and as
 * flaky.
 */
export function afterRetry(first: Tally, second: Tally): Tally {
  const flaky = Math.max(0, first.failed - second.failed);
  return { ...first, passed: first.passed + flaky, failed: second.failed, flaky };
}

/** One file of tests, as a run reports it. */
export interface TestFile {
  /** Relative to the checkout. */
  readonly name: string;
  readonly tookMs: number;
}

interface ReportedFile {
  readonly name: string;
  readonly status: string;
  readonly startTime: number;
  readonly endTime: number;
  readonly assertionResults: readonly {
    readonly ancestorTitles: readonly string[];
    readonly title: string;
    readonly status: string;
  }[];
}

function reportedFiles(report: unknown): readonly ReportedFile[] {
  const results: unknown =
    typeof report === 'object' && report !== null ? Reflect.get(report, 'testResults') : undefined;
  return Array.isArray(results) ? (results as ReportedFile[]) : [];
}

/** Paths of files with a failed test, or that failed before their tests ran, from the report of `jest --json`. */
export const failedFilesOf = (report: unknown): string[] =>
  reportedFiles(report)
    .filter(({ status }) => status === 'failed')
    .map(({ name }) => name);

/** The failed tests of the report, each as `file: title`; a file that failed before its tests ran has none. */
export const failedTestsOf = (report: unknown): string[] =>
  reportedFiles(report).flatMap(({ name, assertionResults }) =>
    assertionResults
      .filter(({ status }) => status === 'failed')
      .map(
        ({ ancestorTitles, title }) => `${relative(workspaceRoot, name)}: ${[...ancestorTitles, title].join(' > ')}`,
      ),
  );

/** All files of the report of `jest --json`. A file that did not run took no time. */
export const filesOf = (report: unknown): TestFile[] =>
  reportedFiles(report).map(({ name, startTime, endTime }) => ({
    name: relative(workspaceRoot, name),
    tookMs: endTime - startTime,
  }));

const LISTED = 10;

/** The files that took longest, one on a line, the longest first. */
export const slowestFiles = (files: readonly TestFile[]): string =>
  files
    .toSorted((a, b) => b.tookMs - a.tookMs)
    .slice(0, LISTED)
    .map(({ name, tookMs }) => `${(tookMs / 1_000).toFixed(1).padStart(7)} s  ${name}\n`)
    .join('');

/**
 * Reads the report of `jest --json`. A file that failed before its tests ran counts as one failure; so does a missing
 * report (jest crashed or timed out).
 */
export function tallyOf(report: unknown): Tally {
  if (typeof report !== 'object' || report === null) return oneFailure;
  const count = (member: string): number => {
    const value: unknown = Reflect.get(report, member);
    return typeof value === 'number' ? value : 0;
  };
  return {
    passed: count('numPassedTests'),
    failed: count('numFailedTests') + count('numRuntimeErrorTestSuites'),
    skipped: count('numPendingTests') + count('numTodoTests'),
    flaky: 0,
  };
}
