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

/** One who never came back, or never said that it was not ready, has taken for ever. */
const orNever = (ms: number): number => (Number.isNaN(ms) ? Number.POSITIVE_INFINITY : ms);

export function outageFindings(outages: readonly OutageResult[]): Finding[] {
  return outages.flatMap(({ name: of, wrongAllows, worstAnswerMs, notReadyAfterMs, firstAllowMs }): Finding[] => [
    { target: 'gateWrongAllows', value: wrongAllows, of },
    { target: 'gateWorstAnswer', value: worstAnswerMs, of },
    { target: 'gateNotReady', value: orNever(notReadyAfterMs), of },
    { target: 'gateReturn', value: orNever(firstAllowMs), of },
  ]);
}

/** An outage that hardly anybody met proves nothing, and an answer that says neither is no denial. */
export function whyOutagesSayNothing(outages: readonly OutageResult[]): string[] {
  return outages.flatMap(({ name, answers, unclear }) => [
    ...(answers < fewestAnswers ? [`${name}: only ${answers} checks were asked and answered within it.`] : []),
    ...(unclear > 0 ? [`${name}: ${unclear} answers, or lost ones, did not say deny.`] : []),
  ]);
}

const fewestAnswers = 20;
