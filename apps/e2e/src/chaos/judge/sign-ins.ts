import type { Asked, Fault } from '../history.ts';
import { Findings, type Check } from './check.ts';
import { codeIn } from './keyed-writes.ts';

const ACTS: ReadonlySet<string> = new Set(['sign-in', 'signed-in']);
/** What tells people to try again, as the console documents. */
const AGAIN: ReadonlySet<string> = new Set(['UNAVAILABLE', 'OVERLOADED', 'RATE_LIMITED']);
/** After an outage of the provider: the console's calls to it have ended by then. */
const AGAIN_WITHIN_MS = 6_000;

interface Told {
  readonly number: number;
  readonly asked: Asked;
}

/** A sign-in leads on, or is told to be tried again; and the latter only while something that it needs is broken. */
export function signIns(): Check {
  const findings = new Findings(
    `a sign-in is refused with the documented answer alone, and not later than ${AGAIN_WITHIN_MS / 1000} s after an outage`,
  );
  const faults: Fault[] = [];
  const refused: Told[] = [];
  return {
    line(line, number) {
      if (line.is === 'fault') faults.push(line);
      if (line.is !== 'asked' || !ACTS.has(line.act) || line.status === undefined) return;
      findings.judged += 1;
      if (line.status === 303) return;
      if (AGAIN.has(codeIn(line.text))) refused.push({ number, asked: line });
      else findings.add(`line ${number}: a sign-in was told ${line.status} ${codeIn(line.text)}`);
    },
    close() {
      for (const { number, asked } of refused)
        if (!faults.some((fault) => excuses(fault, asked)))
          findings.add(`line ${number}: a sign-in was told ${codeIn(asked.text)} while nothing was broken`);
      return Promise.resolve(findings.verdict());
    },
  };
}

/** What stops a replica, or sets its clock, stops its calls to the provider as well. */
function excuses({ name, hit, startedMs, healedMs }: Fault, asked: Asked): boolean {
  const isMet = startedMs <= asked.endedMs && asked.startedMs <= healedMs + AGAIN_WITHIN_MS;
  return isMet && (name.startsWith('provider-') || hit === 'console' || hit === `console/${asked.replica}`);
}
