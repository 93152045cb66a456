import { randomBytes } from 'node:crypto';
import type { BenchContext } from '../bench-context.ts';
import type { LoadPlan, LoadResult } from '../load/load-plan.ts';
import { peakRssBytesOf } from '../proc-usage.ts';
import type { RoundResult, Row, Summary } from './row.ts';
import { summarise } from './summarise.ts';

/** A row with the results of all of its rounds. */
interface RowRounds {
  readonly row: Row;
  readonly warmUps: LoadResult[];
  readonly rounds: RoundResult[];
}

export interface MeasuredRows {
  readonly all: readonly (RowRounds & { readonly summary: Summary })[];
  /** The reasons to withhold ratios and verdicts, as sentences; none if every number is valid. */
  readonly withheld: readonly string[];
}

/** On a slow machine warming up ends after this many rounds. */
const mostWarmUps = 10;
const mebibyte = 1024 * 1024;

/**
 * Warms up every row, then runs the rounds in turn, so that other load of the machine affects all rows. Rows to compare
 * with each other are given as a list of their own: every second round runs them in reverse, because the database still
 * works for one row while the next is measured. Then asks every row for the proof of its answers.
 */
export async function measureRows(
  context: BenchContext,
  rows: readonly (Row | readonly Row[])[],
  rounds = context.options.rounds,
): Promise<MeasuredRows> {
  const { signal, tell, machine } = context;
  const groups = rows.map((group) => [group].flat().map((row): RowRounds => ({ row, warmUps: [], rounds: [] })));
  const all = groups.flat();
  for (const one of all) {
    tell(`Warming up: ${one.row.name}`);
    await warmUp(context, one);
  }
  for (let round = 1; round <= rounds; round += 1) {
    tell(`Round ${round} of ${rounds}`);
    for (const one of groups.flatMap((group) => (round % 2 === 1 ? group : group.toReversed()))) {
      signal.throwIfAborted();
      one.rounds.push(await roundOf(context, one));
    }
  }
  tell('Checking what was written');
  const withheld: string[] = [];
  if (machine.inMemory) withheld.push('The data is in memory: nothing is durable there. Choose a disk with --data.');
  for (const one of all) withheld.push(...(await faultsOf(one)));
  const peak = ({ watch }: Row): number =>
    (peakRssBytesOf(watch.find(({ name }) => name === 'server')?.pid ?? 0) ?? Number.NaN) / mebibyte;
  return { all: all.map((one) => ({ ...one, summary: summarise(one, peak(one.row)) })), withheld };
}

type Pace = Pick<LoadPlan, 'until' | 'perSecond'>;

function paceOf({ until, perSecond }: Row, durationMs: number): Pace {
  if (perSecond === undefined) return { until: until ?? { durationMs } };
  return { perSecond, until: { requests: Math.ceil((perSecond * durationMs) / 1_000) } };
}

/**
 * Sends until so many requests were answered that V8 has compiled the hot code: before that a server is slower than in
 * production.
 */
async function warmUp(context: BenchContext, one: RowRounds): Promise<void> {
  const { until, warmUpRequests } = one.row;
  const pace = { until: until === undefined ? { durationMs: context.options.warmUpMs } : { requests: warmUpRequests } };
  while (answersOf(one) < warmUpRequests && one.warmUps.length < mostWarmUps) {
    context.signal.throwIfAborted();
    one.warmUps.push(await send(context, one, pace));
  }
}

/** Where processes come and go meanwhile, it is not known what others did. */
async function roundOf(context: BenchContext, one: RowRounds): Promise<RoundResult> {
  const { row } = one;
  const round = send(context, one, paceOf(row, context.options.roundMs));
  if (row.beside === undefined) return round;
  const [result] = await Promise.all([round, row.beside()]);
  return { ...result, otherCpuMs: null };
}

async function send({ generator, options, settle }: BenchContext, one: RowRounds, pace: Pace): Promise<RoundResult> {
  const { load, watch, watchStalls, generator: own = generator } = one.row;
  const plan: LoadPlan = {
    connections: options.connections,
    ...load,
    ...pace,
    watch,
    keyPrefix: `bench-${randomBytes(6).toString('hex')}`,
    ...(load.firstRequest === undefined ? {} : { firstRequest: load.firstRequest + answersOf(one) }),
  };
  const watched = await watchStalls?.(() => own.run(plan));
  const result = watched === undefined ? await own.run(plan) : { ...watched.result, stallMs: watched.stallMs };
  await settle();
  return result;
}

const roundsOf = ({ warmUps, rounds }: RowRounds): LoadResult[] => [...warmUps, ...rounds];
const answersOf = (one: RowRounds): number => roundsOf(one).reduce((sum, { succeeded }) => sum + succeeded, 0);

/** A speed counts only if no request was cheap because it was refused, and the row proves what it has done. */
async function faultsOf(one: RowRounds): Promise<string[]> {
  const all = roundsOf(one);
  const sum = (value: (round: LoadResult) => number): number => all.reduce((total, round) => total + value(round), 0);
  const refused = sum((round) => Object.values(round.refused).reduce((total, count) => total + count, 0));
  const statuses = [...new Set(all.flatMap((round) => Object.keys(round.refused)))];
  const [unlike, unanswered] = [sum((round) => round.unlike), sum((round) => round.unanswered)];
  const problem = all.find(({ firstProblem }) => firstProblem !== null)?.firstProblem ?? 'they were late';
  const { name, proof, countsFailures = false } = one.row;
  const failures = [
    ...(refused > 0 ? [`${refused} answers had another status (${statuses.join(', ')}).`] : []),
    ...(unlike > 0 ? [`${unlike} answers were not the expected ones.`] : []),
    ...(unanswered > 0 ? [`${unanswered} requests had no answer (${problem}).`] : []),
  ];
  const faults = [...(countsFailures ? [] : failures), ...((await proof?.(answersOf(one))) ?? [])];
  return faults.map((fault) => `${name}: ${fault}`);
}
