import type { BenchContext } from '../bench-context.ts';
import type { LoggedDecisions } from '../gateway/gate-site.ts';
import type { ReportTable, SectionReport } from '../report.ts';
import type { Finding } from '../targets.ts';
import { decimals, right, wholeNumber } from '../text-table.ts';
import type { OutageResult } from './gate-outages.ts';
import type { GateRow } from './gate-rows.ts';
import { costTables, summaryLine, type Profiled } from './profile.ts';
import {
  beside,
  LOAD_COLUMNS,
  loadCells,
  ratioTo,
  summariseSteadily,
  whyWithheld,
  type SteadySummary,
} from './summarise-row.ts';
import { quietness } from './throughput-report.ts';

/** One line of both tables: medians of the rounds. `unlike`: answers without the required allow. */
export interface GateSummary extends SteadySummary {
  readonly kind: GateRow['kind'];
  readonly isCold: boolean;
  readonly logged: LoggedDecisions | undefined;
  readonly settings: Readonly<Record<string, string>> | undefined;
}

export function summariseGate(row: GateRow, logged: LoggedDecisions | undefined): GateSummary {
  const { kind, watch, site, cold } = row;
  return { ...summariseSteadily(row, watch), kind, isCold: cold !== undefined, logged, settings: site?.settings };
}

interface GateMeasured {
  readonly rows: readonly GateRow[];
  readonly summaries: readonly GateSummary[];
  readonly outages: readonly OutageResult[];
  /** Undefined where the run did not include it. */
  readonly profiled: Profiled | undefined;
}

export function gateReport(context: BenchContext, { rows, summaries, outages, profiled }: GateMeasured): SectionReport {
  const { connections, rounds, roundMs } = context.options;
  const withheld = [
    ...whyWithheld({
      rows: summaries,
      machine: context.machine,
      // This section writes to no ledger; the settings still decide what a commit of the log costs.
      ledgered: summaries.flatMap(({ name, settings }) =>
        settings === undefined ? [] : [{ name, acknowledged: 0, inLedger: 0, settings }],
      ),
    }),
    ...summaries.flatMap(whyUnlike),
    ...whyOutagesSayNothing(outages),
  ];
  const express = withheld.length > 0 ? undefined : summaries.find(({ kind }) => kind === 'express');
  return {
    title: "The gate's check",
    tables: [
      throughputTable(summaries, express),
      ...(outages.length === 0 ? [] : [outageTable(outages)]),
      ...(profiled === undefined ? [] : costTables(profiled)),
    ],
    notes: [
      `Medians of ${rounds} rounds of ${roundMs / 1_000} s each, the rows in turn; ${connections} connections, one request in flight on each, each about its own eligible subject; "cold subjects only": in turn about more subjects than a process caches, so that each check also reads the ledger. CPU us is user and system time of the whole server process for each check, including background work (writing its log of decisions).`,
      'At the fixed rate requests are due independently of the answers, and latency counts from the due time; the generator checks every millisecond for due requests.',
      quietness(summaries),
      ...(profiled === undefined ? [] : [summaryLine(profiled)]),
      ...(withheld.length === 0
        ? ['Every answer said allow, and the log of decisions contains each of them once, without a gap.']
        : []),
      ...(outages.length === 0
        ? ['This system has no /proc to freeze processes: the outages are missing.']
        : [
            'An outage lasts two seconds, during which sixteen doors keep sending checks. A check counts as within it if it was sent after the fault had begun and answered before its end began; the worst answer includes checks in flight when it began or ended.',
          ]),
    ],
    findings: [...speedFindings(summaries, express), ...outageFindings(outages)],
    withheld,
    measured: {
      summaries,
      outages,
      rounds: rows.map(({ name, warmUps, rounds: all, steady }) => ({ name, warmUps, rounds: all, steady })),
    },
  };
}

/** The log is as deployed: each decision is in it once, with consecutive numbers. */
function whyUnlike({ name, unlike, logged, acknowledged }: GateSummary): string[] {
  const reasons: string[] = [];
  if (unlike > 0) reasons.push(`${name}: ${unlike} answers did not say allow.`);
  if (logged === undefined) return reasons;
  const { rows, allowed, lastNumber } = logged;
  if (rows !== acknowledged || allowed !== acknowledged || lastNumber !== acknowledged) {
    reasons.push(
      `${name}: ${acknowledged} answers said allow; the log has ${rows} rows, ${allowed} of them allow, the last with number ${lastNumber}.`,
    );
  }
  return reasons;
}

function throughputTable(summaries: readonly GateSummary[], express: GateSummary | undefined): ReportTable {
  return {
    columns: [
      ...[{ name: 'server' }, right('requests/s'), ...LOAD_COLUMNS],
      ...['of Express', 'fixed rate/s', 'p50 ms', 'p99 ms', 'worst ms'].map(right),
    ],
    rows: summaries.map((summary) => [
      summary.name,
      wholeNumber(summary.requestsPerSecond),
      ...loadCells(summary),
      decimals(ratioTo(express, summary), 2),
      wholeNumber(summary.steady.perSecond),
      decimals(summary.steady.p50Ms, 2),
      decimals(summary.steady.p99Ms, 2),
      decimals(summary.steady.worstMs, 1),
    ]),
  };
}

function speedFindings(summaries: readonly GateSummary[], express: GateSummary | undefined): Finding[] {
  return summaries
    .filter(({ kind }) => kind === 'gate')
    .flatMap((summary): Finding[] => {
      const of = summary.name.replace('gate, ', '');
      const latency = express === undefined ? undefined : summary.steady.p99Ms;
      const yardstick = beside('Express', express);
      if (summary.isCold) return [{ target: 'gateColdOfExpress', value: ratioTo(express, summary), of: yardstick }];
      return [
        { target: 'gateOfExpress', value: ratioTo(express, summary), of: `${of}; ${yardstick}` },
        { target: 'gateLatency', value: latency, of },
      ];
    });
}

function outageTable(outages: readonly OutageResult[]): ReportTable {
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

function outageFindings(outages: readonly OutageResult[]): Finding[] {
  return outages.flatMap(({ name: of, wrongAllows, worstAnswerMs, notReadyAfterMs, firstAllowMs }): Finding[] => [
    { target: 'gateWrongAllows', value: wrongAllows, of },
    { target: 'gateWorstAnswer', value: worstAnswerMs, of },
    { target: 'gateNotReady', value: orNever(notReadyAfterMs), of },
    { target: 'gateReturn', value: orNever(firstAllowMs), of },
  ]);
}

/** An outage with too few checks proves nothing, and an answer that is neither is not a denial. */
function whyOutagesSayNothing(outages: readonly OutageResult[]): string[] {
  return outages.flatMap(({ name, answers, unclear }) => [
    ...(answers < fewestAnswers ? [`${name}: only ${answers} checks were sent and answered within it.`] : []),
    ...(unclear > 0 ? [`${name}: ${unclear} answers were missing or did not say deny.`] : []),
  ]);
}

const fewestAnswers = 20;
