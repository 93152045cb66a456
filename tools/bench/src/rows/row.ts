import type { Generator } from '../load/generator.ts';
import type { LoadPlan, LoadResult } from '../load/load-plan.ts';
import type { WatchedProcess } from '../proc-usage.ts';
import type { Surface } from '../surfaces/surface-process.ts';
import type { Finding } from '../targets.ts';

/** One line of a table, as data: a server, its load, and the proof that its answers count. */
export interface Row {
  readonly name: string;
  /** `server` is measured, all processes of that name together; the others are its dependencies. */
  readonly watch: readonly WatchedProcess[];
  readonly load: RowLoad;
  /** Sends the load; default: the generator of the run. */
  readonly generator?: Generator;
  /** Default: the length of a round of the run. */
  readonly until?: LoadPlan['until'];
  /** Rounds at this rate, independent of the answers; latency counts from the due time. */
  readonly perSecond?: number;
  /** Runs a round while the event loop of the server is watched for stalls. */
  readonly watchStalls?: Surface['watchStalls'];
  /** Runs beside each round, which ends when both have ended. Processes that it replaces are not watched. */
  readonly beside?: () => Promise<void>;
  /** Requests that fail are a result of this row, shown beside the others, and no fault of the measurement. */
  readonly countsFailures?: boolean;
  /** Number of answers after which the hot code is compiled. */
  readonly warmUpRequests: number;
  /** Default: 0, nothing is stored. */
  readonly recordsPerRequest?: number;
  /** Columns of ratios, such as `of Express`, each with the name of the row to compare with. */
  readonly ratios?: Readonly<Record<string, string>>;
  /** Returns the reasons why the answers do not count, as sentences. `answers`: the expected ones, of every round. */
  readonly proof?: (answers: number) => Promise<readonly string[]>;
  /** Numbers to compare with targets; `of` returns the summary of another row. */
  readonly findings?: (self: Summary, of: (name: string) => Summary) => readonly Finding[];
}

/** The load of every round of a row. */
export type RowLoad = Omit<LoadPlan, 'connections' | 'keyPrefix' | 'perSecond' | 'until' | 'watch'> & {
  /** Default: the number of the run. */
  readonly connections?: number;
};

/** The medians of the rounds of a row. Microseconds are CPU time per request; NaN where a value is not reported. */
export interface Summary {
  readonly name: string;
  /** Requests per second of each round. */
  readonly speeds: readonly number[];
  readonly requestsPerSecond: number;
  /** 0 where nothing is stored. */
  readonly recordsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** The slowest answer of all rounds. */
  readonly worstMs: number;
  /** The longest stall of all rounds. */
  readonly stallMs: number;
  readonly serverUs: number;
  readonly postgresUs: number;
  readonly redisUs: number;
  readonly poolerUs: number;
  readonly generatorUs: number;
  /** The share of all cores used by other processes. */
  readonly otherShare: number;
  /** Requests of all rounds without the expected answer; NaN in a row where they are faults. */
  readonly failed: number;
  /** Peak memory of the server process. */
  readonly peakMebibytes: number;
}

/** `stallMs`: of a row that is watched for stalls. */
export type RoundResult = LoadResult & { readonly stallMs?: number };
