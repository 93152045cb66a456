import { spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { join } from 'node:path';
import { LocalServiceError } from '@sealgate/local-services';
import { caseGate } from '../surfaces/case-gate.ts';
import { consolePages } from '../surfaces/console-pages.ts';
import { ingestGateway } from '../surfaces/ingest-gateway.ts';
import { ledgerPeer } from '../surfaces/ledger-peer.ts';
import { riskPartner } from '../surfaces/risk-partner.ts';
import { appsWith } from '../workspace.ts';
import { dataFolder, prepareDataFolder } from './data-folder.ts';
import { openLog } from './surface-process.ts';
import { checkRequest, startAll } from './start-all.ts';
import { HelpAsked, parseStartOptions, type StartOptions } from './start-options.ts';
import type { Surface } from './surface.ts';
import { Interrupted, UserError } from './user-error.ts';

/** `npm start`. Returns the exit code. */
export async function runStart(parameters: readonly string[]): Promise<number> {
  const report = reporter();
  try {
    const surfaces = existingSurfaces();
    const known = surfaces.map(({ name }) => name);
    const options = parseStartOptions(parameters, { surfaces: known, env: process.env });
    if (options.detach && !report.isDetached) {
      await checkRequest({ options, surfaces, env: process.env });
      return await detach(parameters, options.data);
    }
    await serve(options, report);
    return 0;
  } catch (error) {
    return told(error, report);
  }
}

/** Builds what `npm start` runs, where it has changed, into the folder of bundles of a data folder. */
export async function startedBundles(folder: string): Promise<void> {
  for (const { name, build } of existingSurfaces()) await build?.(join(folder, name));
}

/** Errors the user can fix are printed as one sentence; anything else is a bug and is printed with its stack. */
export function told(error: unknown, report: Reporter): number {
  if (error instanceof HelpAsked || error instanceof Interrupted) {
    report.tell(error.message);
    return 0;
  }
  const expected = error instanceof UserError || error instanceof LocalServiceError;
  report.fail(expected ? error.message : String(error instanceof Error ? error.stack : error));
  return 1;
}

async function serve(options: StartOptions, report: Reporter): Promise<void> {
  const asked = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => asked.abort());
  const running = await startAll({
    options,
    surfaces: existingSurfaces(),
    env: process.env,
    signal: asked.signal,
    detached: report.isDetached,
    tell: (line) => report.tell(line),
  });
  report.ready(running.screen);
  await untilAborted(asked.signal);
  report.tell('Stopping');
  await running.stop();
  report.tell('Stopped.');
}

/** A timer keeps the process alive even after every surface has exited. */
async function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const alive = setInterval(() => undefined, 60_000);
  await new Promise<void>((done) => signal.addEventListener('abort', () => done(), { once: true }));
  clearInterval(alive);
}

/** Starts the same command in the background, prints its output until it is ready, and returns the exit code. */
async function detach(parameters: readonly string[], dataPath: string): Promise<number> {
  const data = dataFolder(dataPath);
  prepareDataFolder(data);
  const output = openLog(data.startLog);
  const program = join(import.meta.dirname, '../main.ts');
  const child = spawn(process.execPath, [...process.execArgv, program, 'start', ...parameters], {
    detached: true,
    env: { ...process.env, [detachedMark]: '1' },
    stdio: ['ignore', output, output, 'ipc'],
  });
  closeSync(output);
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => child.kill(name));
  return new Promise((done) => {
    let failed = false;
    child.on('message', (message) => {
      const report = reportOf(message);
      if (report === undefined) return;
      failed ||= report.kind === 'failure';
      (report.kind === 'failure' ? process.stderr : process.stdout).write(`${report.text}\n`);
      if (report.kind !== 'ready') return;
      child.disconnect();
      child.unref();
      done(0);
    });
    child.on('error', (error) => {
      process.stderr.write(`The start could not run in the background: ${error.message}\n`);
      done(1);
    });
    child.on('exit', (code) => {
      if (code !== 0 && !failed)
        process.stderr.write(`The start exited without a message; its log is ${data.startLog}.\n`);
      done(code ?? 1);
    });
  });
}

/** Set for a detached start whose parent waits at the other end of the IPC channel. */
const detachedMark = 'SEALGATE_START_DETACHED';

type Report = { readonly kind: 'line' | 'failure' | 'ready'; readonly text: string };

interface Reporter {
  readonly isDetached: boolean;
  tell(line: string): void;
  fail(sentence: string): void;
  ready(screen: string): void;
}

/** Prints to the terminal; in a detached start also sends to the parent, until everything is ready. */
export function reporter(): Reporter {
  const isDetached = process.env[detachedMark] === '1' && process.send !== undefined;
  const write = (report: Report): void => {
    const stream = report.kind === 'failure' ? process.stderr : process.stdout;
    // A detached start writes to a log; the screen contains keys, so it is only sent to the parent.
    stream.write(isDetached && report.kind === 'ready' ? 'Ready.\n' : `${report.text}\n`);
    if (isDetached && process.connected) process.send?.(report, undefined, {}, () => undefined);
  };
  return {
    isDetached,
    tell: (text) => write({ kind: 'line', text }),
    fail: (text) => write({ kind: 'failure', text }),
    ready: (text) => {
      write({ kind: 'ready', text });
      if (isDetached && process.connected) setImmediate(() => process.disconnect?.());
    },
  };
}

/** The message, if it is one of ours. */
function reportOf(message: unknown): Report | undefined {
  if (typeof message !== 'object' || message === null || !('kind' in message) || !('text' in message)) return undefined;
  const { kind, text } = message;
  if (typeof text !== 'string' || (kind !== 'line' && kind !== 'failure' && kind !== 'ready')) return undefined;
  return { kind, text };
}

/** In start order. */
const table: readonly Surface[] = [ledgerPeer, ingestGateway, riskPartner, caseGate, consolePages];

/** The surfaces that exist in this checkout. */
function existingSurfaces(): Surface[] {
  const built = appsWith('src/main.ts');
  return table.filter(({ name }) => built.includes(name));
}
