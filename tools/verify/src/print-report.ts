import type { Report, Step } from './report.ts';

/** Which key a report was made with, for people. */
export interface ReportKey {
  readonly name: string;
  readonly keyHash: string;
  readonly source: string;
}

const LABELS = { ok: 'ok', failed: 'FAILED', skipped: '-' };
const LABEL_WIDTH = 8;
const LEAST_STEP_WIDTH = 15;

/** The report as lines for a terminal: one per step, with place, expected and found under each that failed. */
export function reportText(report: Report, keys: readonly ReportKey[]): string {
  const stepWidth = Math.max(LEAST_STEP_WIDTH, ...report.steps.map(({ step }) => step.length + 2));
  const lines = [
    ...keys.map((key) => `key: ${key.name}+${key.keyHash} (from ${key.source})`),
    ...report.steps.flatMap((step) => stepLines(step, stepWidth)),
    ...report.notes.map((note) => `note: ${note}`),
    `${report.verified ? 'VERIFIED' : 'NOT VERIFIED'}. ${report.conclusion}`,
  ];
  return `${lines.map(printable).join('\n')}\n`;
}

/** The report as one JSON object, for scripts: `key` is the first that was pinned, `keys` all of them where there are more. */
export function reportJson(command: string, report: Report, keys: readonly ReportKey[]): string {
  const { verified, conclusion, steps, notes } = report;
  const pinned = { ...(keys.length > 0 && { key: keys[0] }), ...(keys.length > 1 && { keys }) };
  return `${JSON.stringify({ command, verified, conclusion, ...pinned, steps, notes }, null, 2)}\n`;
}

function stepLines({ step, status, detail, where, expected, found }: Step, stepWidth: number): string[] {
  const indent = ' '.repeat(LABEL_WIDTH + stepWidth);
  const facts = Object.entries({ where, expected, found }).filter(([, value]) => value !== undefined);
  return [
    `${LABELS[status].padEnd(LABEL_WIDTH)}${step.padEnd(stepWidth)}${detail}`,
    ...facts.map(([fact, value]) => `${indent}${`${fact}:`.padEnd(10)}${value}`),
  ];
}

/** What is judged may be hostile: nothing in it may move the cursor, or write a line that looks like one of ours. */
function printable(line: string): string {
  // eslint-disable-next-line no-control-regex -- control characters are what is being replaced
  return line.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, '\ufffd');
}
