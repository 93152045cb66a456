import { cpus } from 'node:os';
import { median } from '../median.ts';
import { decimals } from '../text-table.ts';
import type { RoundResult, Row, Summary } from './row.ts';

const cores = cpus().length;

export function summarise(
  {
    row,
    rounds,
  }: {
    readonly row: Pick<Row, 'name' | 'recordsPerRequest' | 'countsFailures'>;
    readonly rounds: readonly RoundResult[];
  },
  peakMebibytes: number,
): Summary {
  const of = (value: (round: RoundResult) => number): number => median(rounds.map(value));
  const cpuUs = (process: string): number =>
    of(({ cpuMs, measured }) => ((cpuMs[process] ?? Number.NaN) * 1_000) / measured);
  const speeds = rounds.map(({ measured, measuredMs }) => (measured * 1_000) / measuredMs);
  return {
    name: row.name,
    speeds,
    requestsPerSecond: median(speeds),
    peakMebibytes,
    recordsPerSecond: median(speeds) * (row.recordsPerRequest ?? 0),
    p50Ms: of(({ p50Ms }) => p50Ms),
    p99Ms: of(({ p99Ms }) => p99Ms),
    worstMs: Math.max(...rounds.map(({ largestMs }) => largestMs)),
    stallMs: Math.max(...rounds.map(({ stallMs = Number.NaN }) => stallMs)),
    serverUs: cpuUs('server'),
    postgresUs: cpuUs('postgres'),
    redisUs: cpuUs('redis'),
    poolerUs: cpuUs('pooler'),
    failed: row.countsFailures === true ? rounds.reduce((sum, round) => sum + failuresOf(round), 0) : Number.NaN,
    generatorUs: of(({ generatorCpuMs, measured }) => (generatorCpuMs * 1_000) / measured),
    otherShare: of(({ otherCpuMs, measuredMs }) => (otherCpuMs ?? Number.NaN) / (measuredMs * cores)),
  };
}

/** Requests that were refused, answered otherwise than expected, or not answered. */
export const failuresOf = ({ refused, unlike, unanswered }: RoundResult): number =>
  Object.values(refused).reduce((sum, count) => sum + count, unlike + unanswered);

/** The median of the ratios of neighbouring rounds: both had the same other load of the machine. */
export function ratioOf(one: Pick<Summary, 'speeds'>, other: Pick<Summary, 'speeds'>): number {
  return median(one.speeds.map((speed, round) => speed / (other.speeds[round] ?? Number.NaN)));
}

/** How a row changed from before to after: the ratio of the medians, and the least and greatest ratio of a round. */
export function changeOf(
  before: Pick<Summary, 'speeds'>,
  after: Pick<Summary, 'speeds'>,
): { ratio: number; least: number; greatest: number } {
  const rounds = after.speeds.map((speed, round) => speed / (before.speeds[round] ?? Number.NaN));
  const ratio = median(after.speeds) / median(before.speeds);
  return { ratio, least: Math.min(...rounds), greatest: Math.max(...rounds) };
}

/** CPU time of all processes for one request, except the load generator; unreported values count as zero. */
export const cpuUsOf = ({ serverUs, postgresUs, redisUs, poolerUs }: Summary): number =>
  [serverUs, postgresUs, redisUs, poolerUs].reduce((sum, us) => sum + (Number.isNaN(us) ? 0 : us), 0);

/** The yardstick's own cost: the cost of a socket varies by two between machines, so a ratio alone means little. */
export const beside = ({ serverUs }: Summary): string => `Express at ${decimals(serverUs, 1)} us of CPU a request`;
