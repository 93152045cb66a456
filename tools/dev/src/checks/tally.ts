import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { workspaceRoot } from '../workspace.ts';

/** What the last line of a run counts: the tests, and one failure for each check that is not made of tests. */
export interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** Failed, and passed when their files were run once more; among the passed. */
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

/** `12 passed, 0 failed`, then `, 3 skipped` and `, 1 flaky` where any was. */
export function closingLine({ passed, failed, skipped, flaky }: Tally): string {
  const also = [
    [skipped, 'skipped'],
    [flaky, 'flaky'],
  ] as const;
  const named = also.filter(([count]) => count > 0).map(([count, name]) => `, ${count} ${name}`);
  return `${passed} passed, ${failed} failed${named.join('')}`;
}

/** A run of all files and a second run of the files that failed in it: what passed then counts as passed, and as flaky. */
export function afterRetry(first: Tally, second: Tally): Tally {
  const flaky = Math.max(0, first.failed - second.failed);
  return { ...first, passed: first.passed + flaky, failed: second.failed, flaky };
}

/** The paths of the files in which a test failed, or that broke before their tests ran, as `jest --json` wrote them. */
export function failedFilesOf(report: unknown): string[] {
  const results: unknown =
    typeof report === 'object' && report !== null ? Reflect.get(report, 'testResults') : undefined;
  if (!Array.isArray(results)) return [];
  return (results as { name: string; status: string }[])
    .filter(({ status }) => status === 'failed')
    .map(({ name }) => name);
}

/**
 * Counts what `jest --json` wrote. A suite that broke before its tests ran has no failed test of its own, so it counts
 * as one; no report at all (jest itself broke, or ran out of time) counts as one too.
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

/** Named as outputs in nx.json: Nx puts them back with the tasks that it need not run again. */
const TALLIES = join(workspaceRoot, 'tmp/tallies');

export function writeTally(kind: string, project: string, tally: Tally): void {
  mkdirSync(TALLIES, { recursive: true });
  writeFileSync(join(TALLIES, `${kind}-${project}.json`), JSON.stringify(tally));
}

/** What the projects counted, one tally for each. */
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
