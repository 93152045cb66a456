import type { ReportTable } from '../report.ts';
import type { Finding } from '../targets.ts';
import { decimals, right, wholeNumber } from '../text-table.ts';
import type { OutageResult } from './gate-outages.ts';

export function outageTable(outages: readonly OutageResult[]): ReportTable {
  return {
    columns: [
      { name: 'outage' },
      ...['answers', 'allows', 'worst answer ms', 'not ready after ms', 'first allow after ms'].map(right),
    ],
    rows: outages.map(({ name, answers, wrongAllows, worstAnswerMs, notReadyAfterMs, firstAllowMs }) => [
      name,
      wholeNumber(answers),
      wholeNumber(wrongAllows),
      ...[worstAnswerMs, notReadyAfterMs, firstAllowMs].map((ms) => decimals(ms, 1)),
    ]),
  };
}

/** A gate that never recovered, or never reported itself not ready, has taken for ever. */
const orNever = (ms: number): number => (Number.isNaN(ms) ? Number.POSITIVE_INFINITY : ms);

export function outageFindings(outages: readonly OutageResult[]): Finding[] {
  return outages.flatMap(({ name: of, wrongAllows, worstAnswerMs, notReadyAfterMs, firstAllowMs }): Finding[] => [
    { target: 'gateWrongAllows', value: wrongAllows, of },
    { target: 'gateWorstAnswer', value: worstAnswerMs, of },
    { target: 'gateNotReady', value: orNever(notReadyAfterMs), of },
    { target: 'gateReturn', value: orNever(firstAllowMs), of },
  ]);
}

/** An outage with too few checks proves nothing, and an answer that is neither is not a denial. */
export function whyOutagesSayNothing(outages: readonly OutageResult[]): string[] {
  return outages.flatMap(({ name, answers, unclear }) => [
    ...(answers < fewestAnswers ? [`${name}: only ${answers} checks were sent and answered within it.`] : []),
    ...(unclear > 0 ? [`${name}: ${unclear} answers were missing or did not say deny.`] : []),
  ]);
}

const fewestAnswers = 20;
