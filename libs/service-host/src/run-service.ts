import { buildInfo, type Metrics, type ServiceLog } from '@sealgate/observability';
import type { TracingConfig } from './listener-fields.ts';
import { ConfigError, StartError } from './load-config.ts';
import { type HostConfig, type ServiceOptions, startService, tlsFor } from './start-service.ts';

export interface RunOptions extends Omit<ServiceOptions, 'log' | 'config'> {
  readonly config: HostConfig & TracingConfig;
  readonly log: ServiceLog;
  readonly metrics: Metrics;
}

/** Signals that stop a service. */
const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/**
 * Runs a service until it is stopped, then exits: with 0 after SIGTERM or SIGINT, with 1 if it could not start or on a
 * bug (an unhandled rejection, an uncaught exception), which is logged once. A second signal exits at once.
 *
 * With `--check-config` nothing is opened: it checks the settings and TLS files, and exits with 0, or with 1 after
 * listing every fault.
 */
export async function runService(options: RunOptions): Promise<void> {
  const { name, log, config } = options;
  const stopAsked = stopSignal();
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
    const service = await Promise.race([startService(options), stopAsked]);
    // Stopped while starting: no traffic was accepted yet.
    if (typeof service !== 'object') return await exitAfter(log, 0);
    await stopAsked;
    await service.stop();
    await endTracing?.();
    await exitAfter(log, 0);
  } catch (error) {
    await failStart({ name, log, error });
  }
}

function stopSignal(): Promise<void> {
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

/** OpenTelemetry is loaded only if a collector is configured. */
async function tracingOf({ name, config, log, metrics }: RunOptions): Promise<(() => Promise<void>) | undefined> {
  const { otlpEndpoint } = config;
  if (otlpEndpoint === undefined) return undefined;
  const { startTracing } = await import('./tracing.ts');
  return startTracing({ name, config: { ...config, otlpEndpoint }, log, metrics });
}

/**
 * Wraps a `main.ts`: a failed start prints one message on stderr and exits with 1. Faults of configuration or
 * environment are printed without a stack. `--version` prints the version and exits before any setting is read.
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
    // Resources opened before the failure may keep the process alive.
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
  return error instanceof Error ? (error.stack ?? error.message) : `The thrown value is not an Error: ${typeof error}`;
}

/**
 * Command line of Node for a service: `node ${NODE_OPTIONS} main.js`. By default V8 grows the heap with the memory of
 * the machine and collects garbage of batches late; with the bound a service needs half the memory and is no slower.
 * With the bound alone, V8 would run a full mark every hundred requests that leave buffers behind; the growing factor
 * delays it until the heap has tripled, which saves a sixth of CPU time and costs a tenth of the memory. Source maps
 * give file names and lines of the sources in stacks. Creating an error costs no more; printing the first stack, which
 * takes a bug, loads the maps: about 0.1 s once, and 20 MiB of heap from then on.
 */
export const NODE_OPTIONS: readonly string[] = [
  '--max-old-space-size=160',
  '--max-semi-space-size=32',
  '--heap-growing-percent=200',
  '--enable-source-maps',
];
