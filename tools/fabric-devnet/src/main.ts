import { resolve } from 'node:path';
import { LocalServiceError } from '@sealgate/local-services';
import { DevnetError, messageOf, MissingCommandsError } from './devnet-error.ts';
import { down } from './down.ts';
import { HelpAsked, isDevnetCommand, parseOptions, usage, workspaceRoot, type CliOptions } from './options.ts';
import { statusLines, upScreen } from './screen.ts';
import { status, type NetworkStatus } from './status.ts';
import { up } from './up.ts';

// A closed pipe (`| head`) must not abort a start.
process.stdout.on('error', () => undefined);

const tell = (text: string): void => void process.stdout.write(`${text}\n`);

/** 3 is the exit code of service managers for a service that is not running. */
const statusCodes: Readonly<Record<NetworkStatus['state'], number>> = { up: 0, partly: 4, down: 3, absent: 3 };

async function runUp(options: CliOptions): Promise<number> {
  const begun = performance.now();
  const result = await up({
    data: options.data,
    fresh: options.fresh,
    ...(options.portBase === undefined ? {} : { portBase: options.portBase }),
    ...(options.batchTimeoutMs === undefined ? {} : { batchTimeoutMs: options.batchTimeoutMs }),
    ...(options.organizations === undefined ? {} : { organizations: options.organizations }),
    ...(options.mutualTls ? { mutualTls: true } : {}),
    programs: {
      ...options.further,
      ...(options.contract === undefined ? {} : { records: options.contract }),
      ...(options.withBasic
        ? { basic: resolve(workspaceRoot, 'apps/ledger-chaincode/test/basic-assets/main.ts') }
        : {}),
    },
    collections: options.collections,
    env: process.env,
    now: Date.now,
    tell,
  });
  tell(upScreen(result, (performance.now() - begun) / 1_000));
  return 0;
}

async function runDown({ data }: CliOptions): Promise<number> {
  const ended = await down({ data, env: process.env });
  tell(
    ended === 0 ? `No network is running in ${data}.` : `Stopped ${ended} programs. Committed data stays in ${data}.`,
  );
  return 0;
}

async function runStatus({ data, json }: CliOptions): Promise<number> {
  const found = await status({ data, env: process.env });
  tell(json ? JSON.stringify(found, undefined, 2) : statusLines(found));
  return statusCodes[found.state];
}

/** Errors the user can fix are printed as one sentence; anything else is a bug and is printed with its stack. */
function exitCodeOf(error: unknown): number {
  if (error instanceof HelpAsked) {
    tell(error.message);
    return 0;
  }
  const expected = error instanceof DevnetError || error instanceof LocalServiceError;
  process.stderr.write(`${expected || !(error instanceof Error) ? messageOf(error) : error.stack}\n`);
  return error instanceof MissingCommandsError ? 2 : 1;
}

async function run([command, ...parameters]: readonly string[]): Promise<number> {
  if (!isDevnetCommand(command)) {
    process.stderr.write(`${usage}\n`);
    return 1;
  }
  try {
    const options = parseOptions(command, parameters, process.env);
    return await { up: runUp, down: runDown, status: runStatus }[command](options);
  } catch (error) {
    return exitCodeOf(error);
  }
}

process.exitCode = await run(process.argv.slice(2));
