import { Findings, type Check } from './check.ts';

/** A 500 is a defect whatever failed: an outage has an answer of its own, and a repetition would meet the same again. */
export function internalErrors(): Check {
  const findings = new Findings('nobody was answered an internal error');
  return {
    line(line, number) {
      if (line.is !== 'asked' || line.status === undefined) return;
      findings.judge(line.status === 500 && `line ${number}: ${line.target} was answered ${line.text ?? 'nothing'}`);
    },
    close: () => Promise.resolve(findings.verdict()),
  };
}
