import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
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

/** Paths of files with a failed test, or that failed before their tests ran, from the report of `jest --json`. */
export function failedFilesOf(report: unknown): string[] {
  const results: unknown =
    typeof report === 'object' && report !== null ? Reflect.get(report, 'testResults') : undefined;
  if (!Array.isArray(results)) return [];
  return (results as { name: string; status: string }[])
    .filter(({ status }) => status === 'failed')
    .map(({ name }) => name);
}

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

/** Declared as outputs in nx.json, so that Nx restores them for cached tasks. */
const TALLIES = join(workspaceRoot, 'tmp/tallies');

export function writeTally(kind: string, project: string, tally: Tally): void {
  mkdirSync(TALLIES, { recursive: true });
  writeFileSync(join(TALLIES, `${kind}-${project}.json`), JSON.stringify(tally));
}

/** The tallies of all projects. */
export function talliesOf(kind: string): Tally[] {
  return filesOf(kind).map((file) => JSON.parse(readFileSync(file, 'utf8')) as Tally);
}

export function clearTallies(kind: string): void {
  for (const file of filesOf(kind)) rmSync(file);
}

function filesOf(kind: string): string[] {
  mkdirSync(TALLIES, { recursive: true });
  const names = readdirSync(TALLIES).filter((name) => name.startsWith(`${kind}-`));
  return names.map((name) => join(TALLIES, name));
}
