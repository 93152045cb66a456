import { pick } from '../post-patiently.ts';

/** A control of the demo, and what it is about. */
export interface DemoControl {
  readonly id: string;
  readonly subject: string;
}

const KINDS = [
  ['test_result', 'test report'],
  ['document', 'screenshots of the settings'],
  ['attestation', 'signed statement'],
  ['log_extract', 'extract of the log'],
] as const;

/** What shows that a control worked in a quarter. */
interface DemoEvidence {
  readonly controlId: string;
  readonly title: string;
  readonly kind: string;
}

/** Evidence of three quarters for three of four controls; no two have the same title. */
export function demoEvidence(controls: readonly DemoControl[]): DemoEvidence[] {
  const shown = controls.filter((_, index) => index % 4 !== 1);
  const wanted = shown.flatMap(({ id, subject }) => [1, 2, 3].map((quarter) => ({ controlId: id, subject, quarter })));
  return wanted.map(({ controlId, subject, quarter }, index) => {
    const [kind, words] = pick(KINDS, index);
    return { controlId, kind, title: `${subject}: ${words}, quarter ${quarter}` };
  });
}
