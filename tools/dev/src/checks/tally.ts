/** What the last line of a run counts: the tests, and one failure for each check that is not made of tests. */
export interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

export const nothing: Tally = { passed: 0, failed: 0, skipped: 0 };
export const oneFailure: Tally = { passed: 0, failed: 1, skipped: 0 };

export function sum(tallies: readonly Tally[]): Tally {
  return tallies.reduce(
    (total, { passed, failed, skipped }) => ({
      passed: total.passed + passed,
      failed: total.failed + failed,
      skipped: total.skipped + skipped,
    }),
    nothing,
  );
}

/** `12 passed, 0 failed`, and `, 3 skipped` where any was. */
export function closingLine({ passed, failed, skipped }: Tally): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
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
  };
}
