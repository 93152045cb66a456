import { LocalServiceError } from '@sealgate/local-services';
import { existingSurfaces } from '../surfaces/surface-table.ts';
import { detach } from './detach.ts';
import { reporter, type Reporter } from './reporter.ts';
import { checkRequest, startAll } from './start-all.ts';
import { HelpAsked, parseStartOptions, type StartOptions } from './start-options.ts';
import { Interrupted, UserError } from './user-error.ts';

/** `npm start`. Gives the exit code. */
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

/** What a person can mend is one sentence; anything else is a bug of ours and shows where. */
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

/** A timer keeps the process alive even when every surface has died. */
async function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const alive = setInterval(() => undefined, 60_000);
  await new Promise<void>((done) => signal.addEventListener('abort', () => done(), { once: true }));
  clearInterval(alive);
}
