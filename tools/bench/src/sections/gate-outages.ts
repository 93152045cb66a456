import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { removeCluster, startPostgres, type LocalPostgres } from '@sealgate/local-services';
import type { BenchContext, ReleaseStack } from '../bench-context.ts';
import type { LoadPlan, LoadResult } from '../load/load-plan.ts';
import type { RowLoad } from '../rows/row.ts';
import type { RowsSection } from '../rows/rows-report.ts';
import { ALLOW, checksOf, prepareGateSite } from '../surfaces/gate-site.ts';
import type { Surface } from '../surfaces/surface-process.ts';
import type { Finding } from '../targets.ts';
import { decimals, right, wholeNumber } from '../text-table.ts';
import { gateFaults, type Fault } from './gate-faults.ts';
import { withStack } from './table-section.ts';

type Outages = Pick<Required<RowsSection>, 'tables' | 'findings' | 'notes' | 'withheld'>;

/** The gate's answers while its database was unavailable; times are milliseconds. */
interface Outage {
  readonly name: string;
  /** Denials that were sent and answered within it. */
  readonly denials: number;
  /** Other answers within it: any of them could let somebody in. */
  readonly others: number;
  readonly unanswered: number;
  /** Checks in flight when it began included. */
  readonly worstAnswerMs: number;
  /** From its beginning to the first 503 of the readiness route; infinite where none came. */
  readonly notReadyAfterMs: number;
  /** From its end to the first allow; infinite where none came. */
  readonly firstAllowMs: number;
}

const DENY = '"decision":"deny","allow":false';
const doors = 16;
const awayMs = 2_000;
/** Checks that are in flight when the fault begins. */
const beginningMs = 1_000;
const beginsAfterMs = 400;
const patienceMs = 10_000;
/** An outage with fewer checks proves nothing. */
const fewestAnswers = 20;

/** Makes a gate's database unavailable by each fault, while doors keep asking. Nothing where there is no /proc. */
export async function measureOutages(context: BenchContext): Promise<Outages> {
  if (!existsSync('/proc/self/stat')) {
    const notes = ['This system has no /proc to freeze processes: the outages are missing.'];
    return { tables: [], findings: [], notes, withheld: [] };
  }
  return outagesReport(await withStack(context, (stack) => measure(context, stack)));
}

async function measure(context: BenchContext, stack: ReleaseStack): Promise<Outage[]> {
  const { folder } = context;
  const dataDirectory = join(folder, 'postgres-outages');
  // A server that may be broken: nothing else in this run uses it.
  const start = (port?: number): Promise<LocalPostgres> =>
    startPostgres({ dataDirectory, removeWithOwner: folder, ...(port === undefined ? {} : { port }) });
  stack.own('the data of the outages', () => removeCluster(dataDirectory));
  let postgres = await start();
  stack.own('the PostgreSQL of the outages', () => postgres.stop('immediate'));
  const restart = async (): Promise<void> => void (postgres = await start(postgres.port));
  const site = await prepareGateSite({ ...context, postgres }, { name: 'gate_outages', stack });
  const gate = await site.start();
  const checks = await checksOf(gate, doors);
  const outages: Outage[] = [];
  for (const fault of gateFaults({ site, postgres: () => postgres, restart })) {
    context.signal.throwIfAborted();
    context.tell(`Outage: ${fault.name}`);
    outages.push(await during({ context, gate, checks, stack }, fault));
  }
  return outages;
}

async function during(
  { context, gate, checks, stack }: { context: BenchContext; gate: Surface; checks: RowLoad; stack: ReleaseStack },
  fault: Fault,
): Promise<Outage> {
  const ask = (durationMs: number, more: Partial<LoadPlan> = {}): Promise<LoadResult> =>
    context.generator.run({
      ...checks,
      connections: doors,
      keyPrefix: 'none',
      until: { durationMs },
      watch: [],
      ...more,
    });
  await untilAllowed(gate, checks);
  let ended: Promise<void> | undefined;
  const end = (): Promise<void> => (ended ??= fault.end());
  stack.own(fault.name, end); // In any case nothing stays frozen or locked.
  const meeting = ask(beginningMs, { mustSay: '"decision":' });
  await delay(beginsAfterMs);
  const beganAt = performance.now();
  await fault.begin();
  const notReadyAt = firstNotReady(gate);
  const met = await meeting;
  const within = await ask(awayMs, { mustSay: DENY, expects: [200, 503] });
  const notReadyAfterMs = (await notReadyAt) - beganAt;
  await end();
  const returnedAt = performance.now();
  const sum = (counts: LoadResult['refused']): number => Object.values(counts).reduce((all, count) => all + count, 0);
  return {
    name: fault.name,
    denials: within.succeeded,
    others: within.unlike + sum(within.refused),
    unanswered: met.unanswered + met.unlike + within.unanswered,
    worstAnswerMs: Math.max(met.largestMs, within.largestMs),
    notReadyAfterMs,
    firstAllowMs: (await untilAllowed(gate, checks)) - returnedAt,
  };
}

/** The moment of the first allow; infinite where none comes. */
async function untilAllowed({ port }: Surface, { destinations, requests }: RowLoad): Promise<number> {
  const [{ path, headers } = destinations[0]!] = destinations;
  return firstMoment(async () => {
    const body = requests?.[0]?.body ?? '';
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', headers, body });
    return (await answer.text()).includes(ALLOW);
  });
}

/** The moment of the first 503 of the readiness route; infinite where none comes. */
const firstNotReady = ({ opsUrl }: Surface): Promise<number> =>
  firstMoment(async () => {
    const answer = await fetch(`${opsUrl}/health/ready`);
    await answer.arrayBuffer();
    return answer.status === 503;
  });

async function firstMoment(isSo: () => Promise<boolean>): Promise<number> {
  for (const endAt = performance.now() + patienceMs; performance.now() < endAt; await delay(1))
    if (await isSo()) return performance.now();
  return Number.POSITIVE_INFINITY;
}

function outagesReport(outages: readonly Outage[]): Outages {
  return {
    tables: [
      {
        columns: [
          { name: 'outage' },
          ...['denials', 'other answers', 'worst answer ms', 'not ready after ms', 'first allow after ms'].map(right),
        ],
        rows: outages.map((one) => [
          one.name,
          ...[one.denials, one.others].map(wholeNumber),
          ...[one.worstAnswerMs, one.notReadyAfterMs, one.firstAllowMs].map((ms) => decimals(ms, 1)),
        ]),
      },
    ],
    findings: outages.flatMap(({ name: of, ...one }): Finding[] => [
      { target: 'gateWrongAllows', value: one.others, of },
      { target: 'gateWorstAnswer', value: one.worstAnswerMs, of },
      { target: 'gateNotReady', value: one.notReadyAfterMs, of },
      { target: 'gateReturn', value: one.firstAllowMs, of },
    ]),
    notes: [
      'An outage lasts two seconds or more, during which sixteen doors keep sending checks; the worst answer includes checks in flight when it began. Any answer within it that does not say deny counts as an allow.',
    ],
    withheld: outages.flatMap(({ name, denials, unanswered }) => [
      ...(denials < fewestAnswers ? [`${name}: only ${denials} checks were sent and answered within it.`] : []),
      ...(unanswered > 0 ? [`${name}: ${unanswered} checks had no answer of the gate.`] : []),
    ]),
  };
}
