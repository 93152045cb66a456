import type { Verdict } from './check.ts';

/** The verdicts as text: a line for each promise, and under it what broke it. */
export function verdictTable(verdicts: readonly Verdict[]): string {
  const lines = verdicts.flatMap(({ promise, judged, broken, afterSeconds }) => [
    `${broken.length === 0 ? (judged === 0 ? 'unseen' : 'kept  ') : 'BROKEN'} ${String(judged).padStart(9)}  ${promise}${afterSeconds === undefined ? '' : ` (first after ${afterSeconds} s)`}`,
    ...broken.map((breach) => `                    ${breach}`),
  ]);
  return `${['state    judged  promise', ...lines].join('\n')}\n`;
}
