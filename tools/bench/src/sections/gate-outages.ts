import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { removeCluster, startPostgres, type LocalPostgres } from '@sealgate/local-services';
import { releaseStack, type BenchContext, type ReleaseStack } from '../bench-context.ts';
import { makeDoor, prepareGateSite, type GateDoor } from '../gateway/gate-site.ts';
import type { Gateway } from '../gateway/gateway-process.ts';
import { gateFaults, type Fault } from './gate-faults.ts';
import { monotonicMs, startProber, type ProbedCheck } from './gate-prober.ts';

/** The gate's answers while its database was unavailable; times are milliseconds. */
export interface OutageResult {
  readonly name: string;
  /** Sent and answered within it. */
  readonly answers: number;
  readonly wrongAllows: number;
  /** Missing answers, and answers within it that were not explicitly deny. */
  readonly unclear: number;
  /** Over every check that was in flight at any moment of it. */
  readonly worstAnswerMs: number;
  /** From its beginning to the first 503 of the readiness route; NaN where none came. */
  readonly notReadyAfterMs: number;
  /** From its end to the first allow; NaN where none came. */
  readonly firstAllowMs: number;
}

const awayMs = 2_000;
const aroundMs = 500;
const patienceMs = 10_000;
const subjects = 16;

/** Makes a gate's database unavailable by each fault, while doors keep asking. None where there is no /proc. */
export async function measureOutages(context: BenchContext): Promise<OutageResult[]> {
  if (!existsSync('/proc/self/stat')) return [];
  const stack = releaseStack();
  context.stack.own('the gate of the outages', async () => void (await stack.releaseAll()));
  try {
    return await measure(context, stack);
  } finally {
    await stack.releaseAll();
  }
}

async function measure(context: BenchContext, stack: ReleaseStack): Promise<OutageResult[]> {
  const server = await ownServer(context, stack);
  const own = { ...context, postgres: server.first };
  const site = await prepareGateSite(own, { name: 'gate_outages', redisUrl: context.redis?.url, stack });
  const gateway = await site.start();
  const door = await makeDoor({ site, gateway }, subjects);
  const results: OutageResult[] = [];
  for (const fault of gateFaults({ site, postgres: server.current, restart: server.restart })) {
    context.signal.throwIfAborted();
    context.tell(`Outage: ${fault.name}`);
    results.push(await during({ gateway, door, stack }, fault));
  }
  return results;
}

/** A server that may be broken: nothing else in this run uses it. */
async function ownServer({ folder }: BenchContext, stack: ReleaseStack) {
  const dataDirectory = join(folder, 'postgres-outages');
  const start = (port?: number): Promise<LocalPostgres> =>
    startPostgres({ dataDirectory, removeWithOwner: folder, ...(port === undefined ? {} : { port }) });
  stack.own('the data of the outages', () => removeCluster(dataDirectory));
  const first = await start();
  let running = first;
  stack.own('the PostgreSQL of the outages', () => running.stop('immediate'));
  const restart = async (): Promise<void> => {
    running = await start(first.port);
  };
  return { first, current: () => running, restart };
}

interface Met {
  readonly gateway: Gateway;
  readonly door: GateDoor;
  readonly stack: ReleaseStack;
}

async function during({ gateway, door, stack }: Met, fault: Fault): Promise<OutageResult> {
  const prober = startProber({ port: gateway.port, door });
  await allowBy(prober.checks, monotonicMs());
  await delay(aroundMs);
  const beganAt = monotonicMs();
  let ended: Promise<void> | undefined;
  const end = (): Promise<void> => (ended ??= fault.end());
  stack.own('the doors', () => prober.stop());
  stack.own(fault.name, end); // In any case nothing stays frozen or locked.
  await fault.begin();
  const awayAt = monotonicMs();
  const notReadyAt = await firstNotReady(gateway);
  await delay(Math.max(0, awayAt + awayMs - monotonicMs()));
  const returningAt = monotonicMs();
  await end();
  const returnedAt = monotonicMs();
  const allowedAt = await allowBy(prober.checks, returningAt);
  await delay(aroundMs);
  await prober.stop();
  const { checks } = prober;
  const within = checks.filter(({ startedAt, endedAt }) => startedAt >= awayAt && endedAt <= returningAt);
  const met = checks.filter(({ startedAt, endedAt }) => endedAt >= beganAt && startedAt <= returnedAt);
  return {
    name: fault.name,
    answers: within.length,
    wrongAllows: within.filter(({ said }) => said === 'allow').length,
    unclear: met.filter(({ said }) => said === 'unclear').length,
    worstAnswerMs: Math.max(...met.map(({ startedAt, endedAt }) => endedAt - startedAt)),
    notReadyAfterMs: notReadyAt - beganAt,
    firstAllowMs: Math.max(0, allowedAt - returnedAt),
  };
}

/** The time of the first allow after `since`; NaN where none comes. */
async function allowBy(checks: readonly ProbedCheck[], since: number): Promise<number> {
  for (const endAt = monotonicMs() + patienceMs; monotonicMs() < endAt; await delay(1)) {
    const first = checks.find(({ said, endedAt }) => said === 'allow' && endedAt >= since);
    if (first !== undefined) return first.endedAt;
  }
  return Number.NaN;
}

/** The time of the first 503 of the readiness route; NaN where none comes. */
async function firstNotReady({ opsUrl }: Gateway): Promise<number> {
  for (const endAt = monotonicMs() + patienceMs; monotonicMs() < endAt; await delay(1)) {
    const answer = await fetch(`${opsUrl}/health/ready`, { signal: AbortSignal.timeout(patienceMs) }).catch(
      () => undefined,
    );
    await answer?.arrayBuffer();
    if (answer?.status === 503) return monotonicMs();
  }
  return Number.NaN;
}
