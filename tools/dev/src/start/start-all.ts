import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { dataFolder, type DataFolder, forgetData, npmCommand, prepareDataFolder } from './data-folder.ts';
import { devFile } from './dev-file.ts';
import { writeJsonFile, writePrivateFile } from './json-file.ts';
import { endOrphans, type RunningProcess, takeLock, writeRunFile } from './lock.ts';
import { linesOf, renderScreen, shortest, type Screen } from './screen.ts';
import { openSecrets } from './secrets.ts';
import { hasSignIn, startSignIn } from './sign-in.ts';
import { releaseStack, type StartContext, type Watched } from './start-context.ts';
import type { StartOptions } from './start-options.ts';
import { startStores, storesToStart } from './start-stores.ts';
import { type Ground, type RunningSurface, runSurface } from './start-surfaces.ts';
import {
  checkPorts,
  type Example,
  type NeededPort,
  portsOf,
  postgresPort,
  providerPort,
  redisPort,
  type Surface,
} from './surface.ts';
import { Interrupted, UserError } from './user-error.ts';

export interface StartRequest {
  readonly options: StartOptions;
  readonly surfaces: readonly Surface[];
  readonly env: NodeJS.ProcessEnv;
  /** Aborted to stop an unfinished start. */
  readonly signal: AbortSignal;
  readonly detached: boolean;
  tell(line: string): void;
}

export interface Running {
  /** The summary for the user. */
  readonly screen: string;
  /** Stops everything, in reverse start order. */
  stop(): Promise<void>;
}

/**
 * Starts everything requested and waits until it is ready; on failure it stops what it has started. @throws UserError
 * or LocalServiceError for errors the user can fix, Interrupted if the signal was aborted.
 */
export async function startAll(request: StartRequest): Promise<Running> {
  const stack = releaseStack();
  let stopping = false;
  const stop = async (): Promise<void> => {
    stopping = true;
    for (const { name, error } of await stack.releaseAll())
      request.tell(`${name} did not stop cleanly: ${String(error)}`);
  };
  const { data } = request.options;
  const again = `${npmCommand('stop', data)}\`, then \`${npmCommand('start', data)}`;
  const watch = ({ name, logFile, ended }: Watched): void => {
    void ended.then((how) => {
      if (!stopping)
        request.tell(
          `${name} exited (${how}); the rest keeps running. To restart it: \`${again}\`. Its log is ${logFile}.`,
        );
    });
  };
  try {
    const context = await prepare(request, { stack, watch });
    return { screen: await run(context, request.detached), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

type Wiring = Pick<StartContext, 'stack' | 'watch'>;

/**
 * Checks the request before anything is changed. Returns the surfaces to start. After a killed start, ports are checked
 * only once its orphans are stopped: they may hold them.
 */
export async function checkRequest(request: Pick<StartRequest, 'options' | 'surfaces' | 'env'>): Promise<Surface[]> {
  const { options, env } = request;
  const asked = request.surfaces.filter(({ name }) => options.surfaces?.includes(name) ?? true);
  if (asked.length === 0) throw new UserError('This checkout has no surface to start.');
  if (asked.every(({ isConsole }) => isConsole === true))
    throw new UserError('The console needs another surface: add one to --surfaces.');
  // There would be no sign-in for the console.
  const surfaces = asked.filter(({ isConsole }) => isConsole !== true || hasSignIn(env));
  if (options.fresh && env['DATABASE_URL'] !== undefined) {
    throw new UserError(
      '--fresh cannot remove the data in an external DATABASE_URL. Empty that database, or omit one of the two.',
    );
  }
  const { runFile, postgres } = dataFolder(options.data);
  if (!existsSync(runFile) && !existsSync(postgres)) await checkPorts(neededPorts(surfaces, request));
  return surfaces;
}

/** Locks the data folder and stops orphans. */
async function prepare(request: StartRequest, { stack, watch }: Wiring): Promise<StartContext> {
  const { options, env, tell } = request;
  const surfaces = await checkRequest(request);
  const data = dataFolder(options.data);
  prepareDataFolder(data);
  const lock = takeLock(data);
  stack.own('the lock', () => lock.release());
  await makeRoom(data, request);
  const processes: RunningProcess[] = [];
  const remember = (process: RunningProcess): void => {
    processes.push(process);
    writeRunFile(data, processes);
  };
  stack.own('the run file', () => rmSync(data.runFile, { force: true }));
  await checkPorts(neededPorts(surfaces, request));
  for (const surface of surfaces) {
    stopWhenAsked(request.signal);
    if (surface.build === undefined) continue;
    tell(`Building ${surface.name}`);
    await surface.build(join(data.bundles, surface.name));
  }
  const secrets = openSecrets(data);
  return { options, surfaces, env, data, secrets, stack, signal: request.signal, tell, watch, remember };
}

async function makeRoom(data: DataFolder, { options, tell }: StartRequest): Promise<void> {
  const ended = await endOrphans(data);
  if (ended > 0) tell(`Stopped ${ended} orphaned process${ended === 1 ? '' : 'es'} of an earlier start.`);
  if (!options.fresh) return;
  tell(`Removing all data in ${data.path}`);
  forgetData(data);
  prepareDataFolder(data);
}

function neededPorts(surfaces: readonly Surface[], request: Pick<StartRequest, 'options' | 'env'>): NeededPort[] {
  const { portBase } = request.options;
  const stores = storesToStart(request);
  return [
    ...surfaces.flatMap(({ name, number, isConsole }) =>
      Object.entries(portsOf(portBase, number))
        .filter(([listener]) => isConsole !== true || listener !== 'admin')
        .map(([listener, port]) => ({ port, purpose: `${name} (${listener})`, isHttp: true })),
    ),
    ...(hasSignIn(request.env)
      ? [{ port: providerPort(portBase), purpose: 'the development provider', isHttp: true }]
      : []),
    ...(stores.postgres ? [{ port: postgresPort(portBase), purpose: 'PostgreSQL', isHttp: false }] : []),
    ...(stores.redis ? [{ port: redisPort(portBase), purpose: 'Redis', isHttp: false }] : []),
  ];
}

function stopWhenAsked(signal: AbortSignal): void {
  if (signal.aborted) throw new Interrupted();
}

async function run(context: StartContext, detached: boolean): Promise<string> {
  stopWhenAsked(context.signal);
  const running: RunningSurface[] = [];
  const ground: Ground = { stores: await startStores(context), signIn: await startSignIn(context), running };
  for (const surface of context.surfaces) {
    stopWhenAsked(context.signal);
    running.push(await runSurface(context, surface, ground));
  }
  stopWhenAsked(context.signal);
  const { data, secrets } = context;
  const dev = devFile(ground, secrets);
  writeJsonFile(data.devFile, dev);
  context.stack.own('dev.json', () => rmSync(data.devFile, { force: true }));
  return screenOf(context, { ...ground, keys: dev.demo.keys, venueId: dev.demo.venueId, detached });
}

/** The screen shows the examples of one surface: write a record, prove it, and verify it offline. */
const shownOnScreen = 'ingest-gateway';

function examplesOf(
  { data, secrets }: Pick<StartContext, 'data' | 'secrets'>,
  { surface, url, adminUrl, demo }: RunningSurface,
): readonly Example[] {
  const { adminToken } = secrets;
  const { verifierKey } = secrets.ledger;
  return surface.examples({
    url,
    adminUrl,
    adminToken,
    verifierKey,
    demo,
    folder: shortest(data.path),
    dataPath: data.path,
  });
}

function screenOf(
  { data, secrets }: StartContext,
  { stores, signIn, running, keys, venueId, detached }: Ground & Pick<Screen, 'keys' | 'venueId' | 'detached'>,
): string {
  const examples = running.map((each) => ({ name: each.name, lines: examplesOf({ data, secrets }, each) }));
  const console = running.find(({ surface }) => surface.isConsole);
  const all = examples
    .filter(({ lines }) => lines.length > 0)
    .flatMap(({ name, lines }) => [`# ${name}`, '', ...linesOf(lines), '']);
  writePrivateFile(data.examplesFile, all.join('\n'));
  return renderScreen({
    consoleUrl: console?.url,
    surfaces: running.map(({ surface, name, url, opsUrl, adminUrl }) =>
      surface.isConsole ? { name, url, opsUrl } : { name, url, opsUrl, adminUrl },
    ),
    signIn: signIn?.issuer,
    postgres: stores.postgresPlace,
    redis: stores.redisPlace,
    keys,
    venueId,
    adminToken: secrets.adminToken,
    examples: (examples.find(({ name }) => name === shownOnScreen) ?? examples[0])?.lines ?? [],
    examplesFile: data.examplesFile,
    dataPath: data.path,
    detached,
  });
}
