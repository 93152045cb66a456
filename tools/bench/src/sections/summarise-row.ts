import { cpus } from 'node:os';
import { durableSettings } from '../gateway/durable-settings.ts';
import type { LoadResult, Usage } from '../load/load-plan.ts';
import type { Machine } from '../machine.ts';
import { median } from '../median.ts';
import { peakRssBytesOf, type WatchedProcess } from '../proc-usage.ts';
import { decimals, right, wholeNumber } from '../text-table.ts';
import type { SteadyRow } from './run-rows.ts';
import type { Row } from './throughput-rows.ts';

const cores = cpus().length;

/** One row of the table: the medians of its rounds. Microseconds are CPU time per request. */
export interface RowSummary {
  readonly name: string;
  readonly kind: Row['kind'];
  readonly requestsPerSecond: number;
  /** 0 where nothing is stored. */
  readonly recordsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly serverUs: number;
  readonly postgresUs: number;
  readonly redisUs: number;
  readonly generatorUs: number;
  /** The share of all cores used by other processes; NaN where it is not reported. */
  readonly otherShare: number;
  /** Peak memory of the server process; undefined where the system does not report it. */
  readonly peakMebibytes: number | undefined;
  /** Acknowledged records, warm-up included. */
  readonly acknowledged: number;
  readonly refused: number;
  readonly unanswered: number;
  /** The fault of the first request without an answer. */
  readonly firstProblem: string | null;
}

/** At a fixed rate, from the due time: medians of the rounds, and the worst of all. */
interface SteadyPart {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly worstMs: number;
}

/** A row with a fixed-rate part, whose answers must contain a text. */
export interface SteadySummary extends Omit<RowSummary, 'kind'> {
  readonly steady: SteadyPart;
  /** Answers without it. */
  readonly unlike: number;
}

/** The columns that all tables of load share. */
export const LOAD_COLUMNS = [
  'p50 ms',
  'p99 ms',
  'CPU us',
  'PostgreSQL us',
  'Redis us',
  'generator us',
  'memory MiB',
].map(right);

export const loadCells = (summary: Omit<RowSummary, 'kind'>): string[] => [
  decimals(summary.p50Ms, 2),
  decimals(summary.p99Ms, 2),
  decimals(summary.serverUs, 1),
  decimals(summary.postgresUs, 1),
  decimals(summary.redisUs, 1),
  decimals(summary.generatorUs, 1),
  wholeNumber(summary.peakMebibytes),
];

const mebibyte = 1024 * 1024;

/** Undefined where the system does not report it. */
export function peakMebibytesOf({ watch }: { readonly watch: readonly WatchedProcess[] }): number | undefined {
  const peak = peakRssBytesOf(watch[0]?.pid ?? 0);
  return peak === undefined ? undefined : peak / mebibyte;
}

/** Includes the requests acknowledged at the fixed rate. */
export function summariseSteadily(row: SteadyRow, watch: readonly WatchedProcess[]): SteadySummary {
  const { warmUps, rounds, steady } = row;
  const counted = { name: row.name, recordsPerRequest: 1, rounds, warmUps: [...warmUps, ...steady] };
  const of = (value: (round: LoadResult) => number): number => median(steady.map(value));
  return {
    ...summarise({ ...counted, kind: 'single' }, peakMebibytesOf({ watch })),
    unlike: [...warmUps, ...rounds, ...steady].reduce((sum, round) => sum + round.unlike, 0),
    steady: {
      perSecond: of(perSecondOf),
      p50Ms: of(({ p50Ms }) => p50Ms),
      p99Ms: of(({ p99Ms }) => p99Ms),
      worstMs: Math.max(...steady.map(({ largestMs }) => largestMs)),
    },
  };
}

/** The yardstick's own cost: the cost of a socket varies by two between machines, so a ratio alone means little. */
export function beside(name: string, yardstick: Pick<RowSummary, 'serverUs'> | undefined): string {
  return `${name} at ${decimals(yardstick?.serverUs, 1)} us of CPU a request`;
}

/** Requests/s relative to bare Express; undefined where ratios are withheld. */
export function ratioTo(
  express: Pick<RowSummary, 'requestsPerSecond'> | undefined,
  { requestsPerSecond }: Pick<RowSummary, 'requestsPerSecond'>,
): number | undefined {
  return express === undefined ? undefined : requestsPerSecond / express.requestsPerSecond;
}

const perSecondOf = ({ measured, measuredMs }: LoadResult): number => (measured * 1_000) / measuredMs;

export function summarise(
  {
    name,
    kind,
    recordsPerRequest,
    warmUps,
    rounds,
  }: Pick<Row, 'name' | 'kind' | 'recordsPerRequest' | 'warmUps' | 'rounds'>,
  peakMebibytes: number | undefined,
): RowSummary {
  const of = (value: (round: LoadResult) => number): number => median(rounds.map(value));
  const cpuUs = (process: string): number => of(({ usage, measured }) => microseconds(usage[process], measured));
  const requestsPerSecond = of(perSecondOf);
  const all = [...warmUps, ...rounds];
  const sum = (value: (round: LoadResult) => number): number => all.reduce((total, round) => total + value(round), 0);
  return {
    ...{ name, kind, requestsPerSecond, peakMebibytes },
    recordsPerSecond: requestsPerSecond * recordsPerRequest,
    p50Ms: of(({ p50Ms }) => p50Ms),
    p99Ms: of(({ p99Ms }) => p99Ms),
    serverUs: cpuUs('server'),
    postgresUs: cpuUs('postgres'),
    redisUs: cpuUs('redis'),
    generatorUs: of(({ generatorCpuMs, measured }) => (generatorCpuMs * 1_000) / measured),
    otherShare: of(({ otherCpuMs, measuredMs }) => (otherCpuMs ?? Number.NaN) / (measuredMs * cores)),
    acknowledged: sum(({ succeeded }) => succeeded) * recordsPerRequest,
    refused: sum(({ refused }) => Object.values(refused).reduce((total, count) => total + count, 0)),
    unanswered: sum(({ unanswered }) => unanswered),
    firstProblem: all.find(({ firstProblem }) => firstProblem !== null)?.firstProblem ?? null,
  };
}

/** NaN where it was not measured. */
function microseconds(usage: Usage | undefined, requests: number): number {
  return usage?.cpuMs == null ? Number.NaN : (usage.cpuMs * 1_000) / requests;
}

/** A row whose records must all be in the ledger. */
export interface Ledgered extends Pick<RowSummary, 'name' | 'acknowledged'> {
  readonly inLedger: number;
  readonly settings: Readonly<Record<string, string>>;
}

/**
 * The reasons to withhold ratios of a run, as sentences; none if it is valid. A speed counts only if every acknowledged
 * write is durable and in the ledger, once, and no request was cheap because it was refused.
 */
export function whyWithheld(run: {
  rows: readonly Pick<RowSummary, 'name' | 'refused' | 'unanswered' | 'firstProblem'>[];
  ledgered: readonly Ledgered[];
  machine: Pick<Machine, 'inMemory'>;
}): string[] {
  const reasons: string[] = [];
  if (run.machine.inMemory) reasons.push('The data is in memory: nothing is durable there. Choose a disk with --data.');
  for (const { name, refused, unanswered, firstProblem } of run.rows) {
    if (refused > 0) reasons.push(`${name}: ${refused} answers were not 200.`);
    if (unanswered > 0)
      reasons.push(`${name}: ${unanswered} requests had no answer (${firstProblem ?? 'they were late'}).`);
  }
  const settings = run.ledgered.flatMap((row) => durableSettings.map((name) => `${name} is ${row.settings[name]}`));
  for (const said of new Set(settings)) if (!said.endsWith(' on')) reasons.push(`PostgreSQL: ${said}.`);
  for (const { name, inLedger, acknowledged } of run.ledgered) {
    if (inLedger !== acknowledged)
      reasons.push(`${name}: ${acknowledged} records were acknowledged, the ledger holds ${inLedger}.`);
  }
  return reasons;
}
