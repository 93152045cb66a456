import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { until } from '@sealgate/testing';
import { boundMs } from '../harness/scale.ts';
import { fabricRecords } from './fabric.ts';
import { fabricFaults } from './faults/fabric.ts';
import type { FaultKind, Scene } from './faults/fault.ts';
import { processKilled, replicaFaults } from './faults/replicas.ts';
import { postgresFaults } from './faults/postgres.ts';
import { providerFaults } from './faults/provider.ts';
import { redisFaults } from './faults/redis.ts';
import { openHistory, type History, type Surface } from './history.ts';
import { judge, type Verdict } from './judge/index.ts';
import { openClient, type Client } from './load/client.ts';
import { startLoad, type Load } from './load/load.ts';
import { Meter } from './load/meter.ts';
import { stepsOf } from './load/steps.ts';
import { addHeld, addKeptCheckpoints } from './load/watch.ts';
import { nowMs } from './now.ts';
import { oneAtATime, type OneAtATime } from './one-at-a-time.ts';
import { planOf } from './plan.ts';
import { randomOf, type Random } from './random.ts';
import { openReceiver, type Receiver } from './receiver.ts';
import type { Report, Struck } from './report.ts';
import { openSite, STORED, SURFACES } from './site.ts';
import { makeWorld } from './world.ts';

export interface ChaosOptions {
  readonly seed: number;
  /** How long faults are drawn; 0: each kind once. */
  readonly minutes: number;
  /** Where every request and answer is written. */
  readonly historyFile: string;
  /** Names of faults; default: all. */
  readonly faults?: readonly string[];
  readonly surfaces?: readonly Surface[];
  /** The folder of a running Fabric network, for the ledger peers; default: they write to the embedded ledger. */
  readonly fabric?: string;
}

const FAULTS: readonly FaultKind[] = [replicaFaults, redisFaults, postgresFaults, providerFaults, fabricFaults].flat();

const WARM_MS = 3_000;
/** The short form shares its machine: more requests prove nothing, and take the CPU from what restarts. */
const SHORT_PAUSE_MS = 250;
const CALM_MS = 8_000;
const READY_WITHIN_MS = 60_000;
const LAST_ANSWERS_WITHIN_MS = 60_000;
const PUSHES_WITHIN_MS = 90_000;
/** What waits at the end of a long run: pushes go one after the other, under load more slowly than writes. */
const MORE_PUSHES_MS_A_MINUTE = 20_000;
const WRITES_AGAIN_WITHIN_MS = 5_000;
const DECIDED_WITHIN_MS = 300;

/** Everything of a run. */
interface Run extends Scene {
  readonly options: ChaosOptions;
  readonly random: Random;
  readonly history: History;
  readonly client: Client;
  readonly load: Load;
  readonly receiver: Receiver;
  readonly struck: Struck[];
  /** Held by kills and by faults that must be alone. */
  readonly alone: OneAtATime;
  readonly problems: Map<string, string[]>;
}

/** Starts the site, breaks it under load, heals it, and has the history judged. */
export async function runChaos(options: ChaosOptions): Promise<Report> {
  const { seed, surfaces = SURFACES, historyFile } = options;
  const startedMs = nowMs();
  mkdirSync(dirname(historyFile), { recursive: true });
  const history = openHistory(historyFile);
  const random = randomOf(`chaos ${seed}`);
  const site = await openSite(surfaces, options.fabric);
  const receiver = await openReceiver(site.certificates, history, random.fork('receiver'));
  try {
    const world = await makeWorld(site, receiver);
    const { subscriptions } = world;
    const issuer = site.provider === undefined ? {} : { issuer: site.provider.issuer };
    history.add({ is: 'known', verifierKeys: [site.noteKey.verifierKey], subscriptions, ...issuer });
    const meter = new Meter();
    const client = openClient(site, history, meter);
    const steps = stepsOf({ site, client, history, world });
    const load = startLoad(steps, { random: random.fork('load'), pauseMs: options.minutes > 0 ? 0 : SHORT_PAUSE_MS });
    const made = { options, random, site, history, client, meter, load, receiver };
    const run: Run = { ...made, struck: [], alone: oneAtATime(), problems: new Map() };
    const missing = await strike(run)
      .then(async (found) => settle(run).then(() => found))
      .catch((error: unknown) => Promise.reject(load.failure ?? error));
    const stored = STORED.filter((surface) => surfaces.includes(surface));
    const databases = Object.fromEntries(stored.map((surface) => [surface, site.databaseOf(surface)]));
    const records = site.fabric === undefined ? [] : fabricRecords(site.fabric);
    const judged = await judge({ historyFile, databases, records });
    return {
      ...{ seed, commit: commit(), missing, historyFile, struck: run.struck, options: optionsOf(options) },
      startedAt: new Date(startedMs).toISOString(),
      seconds: Math.round((nowMs() - startedMs) / 1000),
      totals: { ...meter.totals, ...totalsOf(run.struck), pushes: receiver.pushes },
      verdicts: [...judged, ...boundsOf(run)],
    };
  } finally {
    receiver.stop();
    await site.stop();
    history.close();
  }
}

/** Draws faults until the time is over. Returns those that cannot be had here. */
async function strike(run: Run): Promise<Record<string, string>> {
  const { options, site, random } = run;
  const wanted = FAULTS.filter(({ name }) => options.faults?.includes(name) ?? true);
  const unknown = options.faults?.find((one) => FAULTS.every(({ name }) => name !== one));
  if (unknown !== undefined)
    throw new Error(`There is no fault ${unknown}. There are: ${FAULTS.map(({ name }) => name).join(', ')}.`);
  const missing = Object.fromEntries(
    wanted.flatMap(({ name, missing: why }) => {
      const reason = why?.(site);
      return reason === undefined ? [] : [[name, reason]];
    }),
  );
  const kinds = wanted.filter(({ name }) => missing[name] === undefined);
  await delay(WARM_MS);
  if (kinds.length === 0) return missing;
  const endsMs = nowMs() + options.minutes * 60_000;
  let isOver = false;
  const kills = options.minutes > 0 && kinds.includes(processKilled) ? killing(run, () => isOver) : Promise.resolve();
  // The short form has each once.
  const drawn = options.minutes > 0 ? kinds : kinds.map((kind) => ({ ...kind, perRound: 1 }));
  const plan = planOf(drawn, random.fork('plan'));
  for (let left = kinds.length; options.minutes > 0 ? nowMs() < endsMs : left > 0; left -= 1) {
    if (run.load.failure !== undefined) throw run.load.failure;
    await struckBy(run, plan.next().value as FaultKind);
  }
  isOver = true;
  await kills;
  return missing;
}

/** Kills some replicas at once, and again others, beside all other faults. */
async function killing(run: Run, isOver: () => boolean): Promise<void> {
  for (let number = 0; !isOver(); number += 1) {
    await run.alone(async () => {
      await Promise.all(
        Array.from({ length: KILLED_AT_ONCE }, (_, nth) =>
          tried(run, processKilled, run.random.fork(`kill ${number}.${nth}`)),
        ),
      );
    });
    await delay(KILL_PAUSE_MS);
  }
}

const KILLED_AT_ONCE = 3;
/** A process that begins is slow: without a pause most of the machine would start, and little would be asked. */
const KILL_PAUSE_MS = 4_000;

async function struckBy(run: Run, kind: FaultKind): Promise<void> {
  const random = run.random.fork(`fault ${run.struck.length}`);
  const strikes = async (): Promise<void> => {
    await tried(run, kind, random);
    await readyAgain(run, kind.name);
  };
  await (kind.isAlone === true ? run.alone(strikes) : strikes());
}

const tried = (run: Run, kind: FaultKind, random: Random): Promise<void> =>
  once(run, kind, random).catch((error: unknown) => broken(run, HEALED, `${kind.name}: ${String(error)}`));

async function once(run: Run, kind: FaultKind, random: Random): Promise<void> {
  const { history, meter, struck } = run;
  const busyMs = kind.isBounded === true ? await slowestOf(meter) : 0;
  const startedMs = nowMs();
  const watched = meter.watch(startedMs);
  const { hit, did, againMs = [] } = await kind.run(run, random);
  const healedMs = nowMs();
  const met = watched.close();
  history.add({ is: 'fault', name: kind.name, hit, startedMs, healedMs, did });
  struck.push({ name: kind.name, did, met, healedMs: healedMs - startedMs, againMs });
  if (kind.isBounded === true && met.slowestMs > boundMs(DECIDED_WITHIN_MS) + busyMs)
    broken(run, REDIS, `${kind.name}: a request took ${Math.round(met.slowestMs)} ms, before it ${Math.round(busyMs)}`);
  for (const ms of againMs.filter((each) => each > boundMs(WRITES_AGAIN_WITHIN_MS)))
    broken(run, PROMOTED, `${kind.name}: the next write was acknowledged after ${Math.round(ms)} ms`);
}

const BEFORE_MS = 1_000;

/** The longest time to an answer without the fault: what the load alone costs on this machine. */
async function slowestOf(meter: Meter): Promise<number> {
  const watched = meter.watch(nowMs());
  await delay(BEFORE_MS);
  return watched.close().slowestMs;
}

const REDIS = `a request that meets an outage of Redis is decided within ${boundMs(DECIDED_WITHIN_MS)} ms of what one took before it`;
const PROMOTED = `writes go on within ${boundMs(WRITES_AGAIN_WITHIN_MS)} ms of a promotion`;
/** Judged only where the machine is not shared with other tests. */
export const TIMED: readonly string[] = [REDIS, PROMOTED];
const HEALED = 'each fault is healed, as an operator would';
const READY = 'every replica is ready again after each fault';

const broken = ({ problems }: Run, promise: string, text: string): void => {
  problems.set(promise, [...(problems.get(promise) ?? []), text]);
};

async function readyAgain(run: Run, what: string): Promise<void> {
  for (const replica of run.site.replicas) {
    const isReady = (): Promise<boolean> =>
      replica.process.ops.send({ path: '/health/ready', timeoutMs: 2_000 }).then(
        ({ status }) => status === 200,
        () => false,
      );
    await until(isReady, { timeoutMs: READY_WITHIN_MS }).catch(() =>
      broken(run, READY, `${replica.name} is not ready after ${what}`),
    );
  }
}

/** A calm under load, then the end of every request, and of what the surfaces still have to do. */
async function settle(run: Run): Promise<void> {
  const { load, client, site, history, receiver, options } = run;
  client.giveUpAtMs = nowMs() + LAST_ANSWERS_WITHIN_MS;
  const goOn = await load.pause();
  await addHeld(site, history);
  client.giveUpAtMs = Infinity;
  goOn();
  await delay(CALM_MS);
  client.giveUpAtMs = nowMs() + LAST_ANSWERS_WITHIN_MS;
  await load.finish();
  await readyAgain(run, 'the end');
  await quiet(() => receiver.pushes, PUSHES_WITHIN_MS + options.minutes * MORE_PUSHES_MS_A_MINUTE);
  await addHeld(site, history);
  addKeptCheckpoints(site, history);
}

const QUIET_MS = 12_000;

/** Resolves once the count has not changed for a while: a refused push is repeated after some seconds. */
async function quiet(count: () => number, withinMs: number): Promise<void> {
  const endsMs = nowMs() + withinMs;
  for (let [known, sinceMs] = [count(), nowMs()]; nowMs() < endsMs && nowMs() - sinceMs < QUIET_MS;) {
    await delay(200);
    if (count() !== known) [known, sinceMs] = [count(), nowMs()];
  }
}

function boundsOf({ struck, problems }: Run): Verdict[] {
  const isRedis = ({ name }: Struck): boolean => name.startsWith('redis-');
  const count = (isOne: (one: Struck) => boolean): number => struck.filter(isOne).length;
  const judged: readonly (readonly [string, number])[] = [
    [REDIS, count(isRedis)],
    [PROMOTED, count(({ againMs }) => againMs.length > 0)],
    [HEALED, struck.length],
    [READY, struck.length],
  ];
  return judged.map(([promise, many]) => ({ promise, judged: many, broken: problems.get(promise) ?? [] }));
}

function optionsOf({ seed, minutes, faults, surfaces, fabric }: ChaosOptions): string {
  return [
    `--seed ${seed} --minutes ${minutes}`,
    ...(surfaces === undefined ? [] : [`--surfaces ${surfaces.join()}`]),
    ...(faults === undefined ? [] : [`--faults ${faults.join()}`]),
    ...(fabric === undefined ? [] : ['--fabric']),
  ].join(' ');
}

function totalsOf(struck: readonly Struck[]): Record<string, number> {
  const totals: Record<string, number> = { faults: struck.length };
  for (const { did } of struck)
    for (const [what, count] of Object.entries(did)) totals[what] = (totals[what] ?? 0) + count;
  return totals;
}

function commit(): string {
  try {
    return execFileSync('git', ['rev-parse', '--short=12', 'HEAD'], { encoding: 'utf8', stdio: 'pipe' }).trim();
  } catch {
    return 'unknown';
  }
}
