import { cpus } from 'node:os';
import type { LoadResult, Usage } from '../load/load-plan.ts';
import { median } from '../median.ts';
import type { Row } from './throughput-rows.ts';

const cores = cpus().length;

/** One row of the table: the medians of its rounds. Microseconds are CPU time of each request. */
export interface RowSummary {
  readonly name: string;
  readonly kind: Row['kind'];
  readonly requestsPerSecond: number;
  /** 0 where nothing is kept. */
  readonly recordsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly serverUs: number;
  readonly postgresUs: number;
  readonly redisUs: number;
  readonly generatorUs: number;
  /** The share of all cores that went to what is not measured here; NaN where it is not told. */
  readonly otherShare: number;
  /** The most the server process ever held; undefined where the system does not tell. */
  readonly peakMebibytes: number | undefined;
  /** Records that were acknowledged, those of the warm-up included. */
  readonly acknowledged: number;
  readonly refused: number;
  readonly unanswered: number;
  /** Of the first request without an answer. */
  readonly firstProblem: string | null;
}

export function summarise(
  { name, kind, recordsPerRequest, warmUps, rounds }: Row,
  peakMebibytes: number | undefined,
): RowSummary {
  const of = (value: (round: LoadResult) => number): number => median(rounds.map(value));
  const cpuUs = (process: string): number => of(({ usage, measured }) => microseconds(usage[process], measured));
  const requestsPerSecond = of(({ measured, measuredMs }) => (measured * 1_000) / measuredMs);
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
