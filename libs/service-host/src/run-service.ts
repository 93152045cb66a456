import { buildInfo, type Metrics, type ServiceLog } from '@sealgate/observability';
import { ConfigError } from './load-config.ts';
import { StartError } from './start-error.ts';
import { startService, tlsFor, type HostConfig, type ServiceOptions } from './start-service.ts';
import type { TracingConfig } from './tracing-fields.ts';

export interface RunOptions extends Omit<ServiceOptions, 'log' | 'config'> {
  readonly config: HostConfig & TracingConfig;
  readonly log: ServiceLog;
  readonly metrics: Metrics;
}

export interface ProcessOptions extends Pick<RunOptions, 'name' | 'config' | 'log' | 'metrics'> {
  /** Brings up what runs in the process. */
  readonly start: () => Promise<StartedService>;
  /** Resolves once the process is to stop: unless given, SIGTERM or SIGINT say so. */
  readonly stopAsked?: Promise<void>;
}

interface StartedService {
  stop(): Promise<void>;
  /** Whether the process ends with 1 although it was told to stop; asked once it has stopped. */
  hasFailed?(): boolean;
}

/** The signals that ask a service to stop. */
const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/**
 * Runs a service until it is told to stop, and then ends the process: 0 after SIGTERM or SIGINT, 1 when it could not start
 * or has met a bug (an unhandled rejection, an uncaught exception), which is logged once. A second signal does not wait.
 *
 * With `--check-config` on the command line nothing is opened: the settings are read, with the files of TLS, and the process
 * ends with 0, or with 1 and every fault of theirs.
 */
export function runService(options: RunOptions): Promise<void> {
  return runProcess({ ...options, start: () => startService(options) });
}

/** As `runService`, with another way to bring it up. */
export async function runProcess(options: ProcessOptions): Promise<void> {
  const { name, log, config, start, stopAsked = signalled() } = options;
  if (process.argv.includes('--check-config')) {
    try {
      await tlsFor(config);
      process.stdout.write(`${name}: the configuration is valid\n`);
      return await exitAfter(log, 0);
    } catch (error) {
      return await failStart({ name, log, error });
    }
  }
  let isCrashing = false;
  const crash = (event: string, error: unknown) => {
    if (isCrashing) return;
    isCrashing = true;
    log.error(event, { name, stack: stackOf(error) });
    void exitAfter(log, 1);
  };
  process.on('uncaughtException', (error) => crash('uncaught_exception', error));
  process.on('unhandledRejection', (reason) => crash('unhandled_rejection', reason));
  try {
    const endTracing = await tracingOf(options);
    const service = await Promise.race([start(), stopAsked]);
    // Told to stop while it still started: nothing has been promised to anybody yet.
    if (typeof service !== 'object') return await exitAfter(log, 0);
    await stopAsked;
    await service.stop();
    await endTracing?.();
    await exitAfter(log, service.hasFailed?.() === true ? 1 : 0);
  } catch (error) {
    await failStart({ name, log, error });
  }
}

function signalled(): Promise<void> {
  return new Promise((resolve) => {
    let signals = 0;
    const onSignal = () => {
      signals += 1;
      if (signals > 1) process.exit(1);
      resolve();
    };
    for (const signal of STOP_SIGNALS) process.on(signal, onSignal);
  });
}

/** OpenTelemetry is loaded where a collector is named, and nowhere else. */
async function tracingOf({ name, config, log, metrics }: ProcessOptions): Promise<(() => Promise<void>) | undefined> {
  const { otlpEndpoint } = config;
  if (otlpEndpoint === undefined) return undefined;
  const { startTracing } = await import('./tracing.ts');
  return startTracing({ name, config: { ...config, otlpEndpoint }, log, metrics });
}

/**
 * The frame of a `main.ts`: whatever stops a service from starting becomes one message on stderr and exit code 1. A fault
 * of the configuration or the machine is told without a stack, since there is no bug to look for. `--version` on the command
 * line prints what this is, and ends before any setting is read.
 */
export function main(name: string, run: () => Promise<void>): void {
  if (process.argv.includes('--version')) {
    const { version, commit, node } = buildInfo;
    process.stdout.write(`${name} ${version} (commit ${commit ?? 'unknown'}, Node ${node})\n`);
    return;
  }
  run().catch((error: unknown) => {
    process.stderr.write(`${name}: ${isForOperators(error) ? error.message : stackOf(error)}\n`);
    process.exitCode = 1;
    // Something that was opened before the failure may keep the process alive.
    setTimeout(() => process.exit(1), 100).unref();
  });
}

async function failStart(failure: { name: string; log: ServiceLog; error: unknown }): Promise<void> {
  const { name, log, error } = failure;
  if (isForOperators(error)) {
    process.stderr.write(`${name}: ${error.message}\n`);
  } else {
    log.error('start_failed', { name, stack: stackOf(error) });
    process.stderr.write(`${name}: could not start: ${error instanceof Error ? error.message : 'unknown'}\n`);
  }
  await exitAfter(log, 1);
}

async function exitAfter(log: ServiceLog, code: number): Promise<void> {
  await log.flush();
  process.exit(code);
}

function isForOperators(error: unknown): error is Error {
  return error instanceof ConfigError || error instanceof StartError;
}

function stackOf(error: unknown): string {
  return error instanceof Error
    ? (error.stack ?? error.message)
    : `Something that is no Error was thrown: ${typeof error}`;
}
