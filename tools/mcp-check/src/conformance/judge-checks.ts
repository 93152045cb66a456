import type { Verdict } from '../report.ts';
import type { Expectation } from './expectations.ts';

/** One check as the suite writes it down, with the revision and the scenario that it is of. */
export interface Check {
  readonly revision: string;
  readonly scenario: string;
  readonly id: string;
  readonly status: string;
  readonly errorMessage?: string;
}

/** What the suite only tells, or finds no reason to try, is not judged. */
const NOT_JUDGED: ReadonlySet<string> = new Set(['INFO', 'SKIPPED']);

const nameOf = ({ revision, scenario }: Pick<Check, 'revision' | 'scenario'>): string => `${revision} ${scenario}`;

/**
 * Holds what the suite found against what is expected, in both directions: a scenario that is not in the table differs, and
 * so does one of the table that never ran, or that passes though it is said not to apply.
 */
export function judgeChecks(checks: readonly Check[], expectations: readonly Expectation[]): Verdict[] {
  const found = Map.groupBy(
    checks.filter(({ status }) => !NOT_JUDGED.has(status)),
    nameOf,
  );
  const known = expectations.map((expected) => {
    const name = nameOf(expected);
    const shows = expected.because === undefined ? 'passes' : `not applicable: ${expected.because}`;
    const ofName = found.get(name) ?? [];
    found.delete(name);
    return { name, shows, difference: ofName.length === 0 ? 'It did not run.' : differenceOf(ofName, expected) };
  });
  const unknown = [...found].map(([name, [check]]) => ({
    name,
    shows: 'is not in the table',
    difference: sayingOf(check!),
  }));
  return [...known, ...unknown];
}

function differenceOf(checks: readonly Check[], { because, says = [''] }: Expectation): string | undefined {
  const failed = checks.filter(({ status }) => status !== 'SUCCESS');
  if (because !== undefined && failed.length === 0) return 'Expected not to apply, and every check of it passes.';
  const isExpected = ({ errorMessage = '' }: Check) =>
    because !== undefined && says.some((words) => errorMessage.includes(words));
  const unexpected = failed.find((check) => !isExpected(check));
  return unexpected === undefined ? undefined : `Found ${sayingOf(unexpected)}`;
}

const sayingOf = ({ id, status, errorMessage }: Check): string =>
  `${id}, ${errorMessage === undefined ? status : `${status}: ${errorMessage.slice(0, 500)}`}`;
