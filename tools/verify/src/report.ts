export type StepStatus = 'ok' | 'failed' | 'skipped';

/** One check, or one that was skipped because an earlier one failed. */
export interface Step {
  /** A short fixed name, such as `signature` or `inclusion`. */
  readonly step: string;
  readonly status: StepStatus;
  /** One sentence for people. */
  readonly detail: string;
  /** The file and, after `#`, the JSON pointer or line of the checked value. */
  readonly where?: string;
  readonly expected?: string;
  readonly found?: string;
}

/** The result of a check. `verified` is true only if no step failed. */
export interface Report {
  readonly verified: boolean;
  /** One sentence: what is proved, or which steps failed. */
  readonly conclusion: string;
  readonly steps: readonly Step[];
  /** Further information: what was not checked, what an absence means. */
  readonly notes: readonly string[];
}

export interface Failure {
  readonly detail: string;
  readonly where?: string;
  readonly expected?: string;
  readonly found?: string;
}

interface Comparison {
  /** The sentence if the two are equal. */
  readonly ok: string;
  /** The sentence if they differ. */
  readonly failed: string;
  readonly where: string;
  readonly expected: string | number | null;
  readonly found: string | number | null;
}

/** Collects steps; checks continue after a failure so that all failures are reported. */
export interface Reporter {
  ok(step: string, detail: string): void;
  failed(step: string, failure: Failure): void;
  skipped(step: string, detail: string): void;
  /** A step that compares two values; returns whether they are equal. */
  equal(step: string, comparison: Comparison): boolean;
  note(text: string): void;
  /** Whether any step has failed so far. */
  hasFailed(): boolean;
  /** Copies the failed steps of another report. */
  copyFailures(from: Reporter): void;
  /** Copies the steps of a finished report, and the notes that are not here yet. */
  include(report: Report): void;
  /** The report. `proved` is the conclusion if nothing failed. */
  finish(proved: string): Report;
}

export function startReport(): Reporter {
  const steps: Step[] = [];
  const notes: string[] = [];
  const failed = (step: string, failure: Failure): void => {
    steps.push({ step, status: 'failed', ...failure });
  };
  return {
    ok: (step, detail) => steps.push({ step, status: 'ok', detail }),
    failed,
    skipped: (step, detail) => steps.push({ step, status: 'skipped', detail }),
    equal(step, { ok, failed: detail, where, expected, found }) {
      const isEqual = expected === found;
      if (isEqual) steps.push({ step, status: 'ok', detail: ok });
      else failed(step, { detail, where, expected: String(expected), found: String(found) });
      return isEqual;
    },
    note: (text) => notes.push(text),
    hasFailed: () => steps.some(({ status }) => status === 'failed'),
    copyFailures(from) {
      steps.push(...from.finish('').steps.filter(({ status }) => status === 'failed'));
    },
    include(report) {
      steps.push(...report.steps);
      notes.push(...report.notes.filter((text) => !notes.includes(text)));
    },
    finish(proved) {
      const names = steps.filter(({ status }) => status === 'failed').map(({ step }) => step);
      // A report without a single passed check proves nothing.
      const verified = names.length === 0 && steps.some(({ status }) => status === 'ok');
      const conclusion = verified ? proved : `Failed: ${[...new Set(names)].join(', ')}.`;
      return { verified, conclusion, steps, notes };
    },
  };
}

/** "1 entry", "300 entries". */
export const entryCount = (count: number): string => (count === 1 ? '1 entry' : `${count} entries`);
