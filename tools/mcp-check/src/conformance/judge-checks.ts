import type { Verdict } from '../report.ts';
import type { Expectation } from './expectations.ts';

/** One check as the suite writes it down, with the scenario that it is of. */
export interface Check {
  readonly scenario: string;
  readonly id: string;
  readonly status: string;
  readonly errorMessage?: string;
}

const nameOf = (scenario: string, check: string): string => (scenario === check ? check : `${scenario}/${check}`);

/**
 * Holds what the suite found against what is expected, in both directions: a check that is not in the table differs, and so
 * does one of the table that never ran. What the suite only tells (INFO) is not judged.
 */
export function judgeChecks(checks: readonly Check[], expectations: readonly Expectation[]): Verdict[] {
  const found = Map.groupBy(
    checks.filter(({ status }) => status !== 'INFO'),
    ({ scenario, id }) => nameOf(scenario, id),
  );
  const known = expectations.map((expected) => {
    const name = nameOf(expected.scenario, expected.check);
    const shows = expected.because === undefined ? 'passes' : `not applicable: ${expected.because}`;
    const ofName = found.get(name) ?? [];
    found.delete(name);
    const differences = ofName.map((check) => differenceOf(check, expected)).filter((text) => text !== undefined);
    return { name, shows, difference: ofName.length === 0 ? 'It did not run.' : differences.at(0) };
  });
  const unknown = [...found].map(([name, [check]]) => ({
    name,
    shows: 'is not in the table',
    difference: sayingOf(check!),
  }));
  return [...known, ...unknown];
}

function differenceOf(check: Check, { status, says = '' }: Expectation): string | undefined {
  const isAsExpected = check.status === status && (check.errorMessage ?? '').includes(says);
  if (isAsExpected) return undefined;
  return `Expected ${status}${says === '' ? '' : ` with “${says}”`}, found ${sayingOf(check)}`;
}

const sayingOf = ({ status, errorMessage }: Check): string =>
  errorMessage === undefined ? status : `${status}: ${errorMessage.slice(0, 500)}`;
