import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { audienceOf } from './sign-in.ts';
import type { StartContext } from './start-context.ts';
import type { Stores } from './start-stores.ts';
import { cleanEnv, startSurface, waitUntilReady } from './surface-process.ts';
import { CONSOLE_NUMBER, type DemoData, portsOf, type RunningListeners, type SignIn, type Surface } from './surface.ts';
import { UserError } from './user-error.ts';

export interface RunningSurface extends RunningListeners {
  readonly pid: number;
  readonly demo: DemoData;
  readonly surface: Surface;
}

/** Shared resources of all surfaces. */
export interface Ground {
  readonly stores: Stores;
  readonly signIn: SignIn | undefined;
  /** In start order. */
  readonly running: RunningSurface[];
}

/** Migrates and starts one surface, waits until it is ready, and creates its demo data. */
export async function runSurface(
  context: StartContext,
  surface: Surface,
  { stores, signIn, running: others }: Ground,
): Promise<RunningSurface> {
  const { options, data, secrets, tell } = context;
  const ports = portsOf(options.portBase, surface.number);
  const urlOf = (port: number): string => `http://127.0.0.1:${port}`;
  const programs = surface.programs(join(data.bundles, surface.name));
  const env = surface.env({
    ports,
    secrets,
    get databaseUrl() {
      return stores.database.runtimeUrl(surface.name); // Creates the password.
    },
    operatorUrl: stores.database.operatorUrl,
    redisUrl: stores.redisUrl,
    checkpoints: data.checkpoints,
    archive: data.archive,
    integrates: context.surfaces.find(({ canIntegrate }) => canIntegrate) === surface,
    signIn,
    audience: audienceOf(surface, options.portBase),
    consoleUrl: context.surfaces.some(({ isConsole }) => isConsole === true)
      ? urlOf(portsOf(options.portBase, CONSOLE_NUMBER).public)
      : undefined,
    running: others,
  });
  if (programs.migrate !== undefined)
    await migrateSurface({ name: surface.name, program: programs.migrate, env }, stores);
  tell(`Starting ${surface.name}`);
  const running = startSurface({
    name: surface.name,
    program: programs.main,
    nodeOptions: surface.nodeOptions,
    logFile: join(data.logs, `${surface.name}.log`),
    env,
  });
  context.stack.own(surface.name, () => running.stop());
  context.remember({ name: surface.name, pid: running.pid, mark: programs.main, logFile: running.logFile });
  await waitUntilReady(running, urlOf(ports.ops), context.signal);
  context.watch(running);
  const adminUrl = urlOf(ports.admin);
  const demo = await surface.demo({
    url: urlOf(ports.public),
    adminUrl,
    get databaseUrl() {
      return stores.database.runtimeUrl(surface.name);
    },
    secrets,
    signIn,
  });
  const { name, mcp } = surface;
  return { name, mcp, url: urlOf(ports.public), opsUrl: urlOf(ports.ops), adminUrl, pid: running.pid, demo, surface };
}

const migrationTimeoutMs = 180_000;

async function migrateSurface(
  { name, program, env }: { name: string; program: string; env: Readonly<Record<string, string>> },
  { database }: Stores,
): Promise<void> {
  // With the variables of the service, so that its role gets exactly the grants it needs.
  const { code, said } = await runProgram(program, {
    ...env,
    MIGRATION_DATABASE_URL: database.ownerUrl,
    DATABASE_URL: database.runtimeUrl(name),
  });
  if (code === 0) return;
  const reason = said.trim().split('\n').at(-1) ?? '';
  throw new UserError(`The migrations of ${name} failed: ${reason}`);
}

function runProgram(
  program: string,
  env: Readonly<Record<string, string>>,
): Promise<{ code: number | null; said: string }> {
  return new Promise((done) => {
    const child = spawn(process.execPath, [program], {
      cwd: '/',
      env: { ...cleanEnv(process.env), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: migrationTimeoutMs,
    });
    let said = '';
    const keep = (chunk: Buffer): void => {
      said = (said + chunk.toString('utf8')).slice(-20_000);
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.on('error', (error) => done({ code: 1, said: error.message }));
    child.on('close', (code) => done({ code, said }));
  });
}
