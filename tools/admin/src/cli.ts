import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { adminApi, type AdminApi } from './admin-api.ts';
import {
  type CommandSpec,
  DEFAULT_TIMEOUT_SECONDS,
  globalOptions,
  type GlobalOptions,
  type Group,
} from './command-spec.ts';
import { EXIT_CODE_MEANINGS, EXIT_CODES, type ExitCode, UnreachableError, UsageError } from './errors.ts';
import { connectionWarnings, findConnection } from './find-connection.ts';
import { GROUPS } from './groups.ts';
import { Refusal, refusalText } from './refusal.ts';
import { type CliContext, openSession, withLineFeed } from './session.ts';

const HELP = `
Address and token are each taken from their option, else from --dev-json, else from SEALGATE_ADMIN_URL and
SEALGATE_ADMIN_TOKEN, else from the .sealgate/dev.json of a running \`npm start\`, in this folder or one above.

Exit codes:
${Object.entries(EXIT_CODE_MEANINGS)
  .map(([code, meaning]) => `  ${code}  ${meaning}`)
  .join('\n')}`;

// Set by tools/dev/bundle.ts; absent when running from sources.
declare const SEALGATE_BUILD_VERSION: string | undefined;

function version(): string {
  if (typeof SEALGATE_BUILD_VERSION === 'string') return SEALGATE_BUILD_VERSION;
  const text = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/** Runs one command line, without the names of Node and script. Throws only for bugs. */
export async function runCli(args: readonly string[], context: CliContext): Promise<ExitCode> {
  let exitCode: ExitCode = EXIT_CODES.done;
  const program = new Command('sealgate')
    .description('The admin APIs of Sealgate from the command line.')
    .version(`sealgate ${version()}`, '--version', 'print the version')
    .exitOverride()
    .configureOutput({ writeOut: context.out, writeErr: context.err })
    // Each command parses what follows its name, so that `--` and values that look like options work.
    .enablePositionalOptions()
    .configureHelp({ subcommandTerm })
    .showHelpAfterError('("sealgate --help" and "sealgate <group> <command> --help" show how.)')
    .addHelpText('after', HELP);
  for (const option of globalOptions()) program.addOption(option);
  for (const group of GROUPS) mountGroup(program, group, { context, exit: (code) => (exitCode = code) });
  try {
    await program.parseAsync([...args], { from: 'user' });
    return exitCode;
  } catch (error) {
    // Commander has printed the error; requested help is not an error.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_CODES.done : EXIT_CODES.usage;
    if (!(error instanceof UsageError) && !(error instanceof UnreachableError)) throw error;
    context.err(`sealgate: ${error.message}\n`);
    return error instanceof UsageError ? EXIT_CODES.usage : EXIT_CODES.unreachable;
  }
}

interface Mounting {
  readonly context: CliContext;
  readonly exit: (code: ExitCode) => void;
}

function mountGroup(program: Command, group: Group, mounting: Mounting): void {
  const command = groupCommand(program, group.name, group.summary);
  const within = new Map(
    Object.entries(group.within ?? {}).map(([name, summary]) => [name, groupCommand(command, name, summary)]),
  );
  for (const spec of group.commands) {
    const [first = '', ...rest] = spec.usage.split(' ');
    const inner = within.get(first);
    mountCommand(inner ?? command, { group, spec, usage: inner === undefined ? spec.usage : rest.join(' ') }, mounting);
  }
}

function groupCommand(parent: Command, name: string, summary: string): Command {
  const command = parent.command(name).description(summary);
  // Accepted here too, in any position, but documented for commands and the program.
  for (const option of globalOptions()) command.addOption(option.hideHelp());
  return command;
}

function mountCommand(parent: Command, which: Which, { context, exit }: Mounting): void {
  const { usage } = which;
  const { summary, details, examples, options = [] } = which.spec;
  const command = parent
    .command(usage)
    .summary(summary)
    .description(details === undefined || details === '' ? `${summary}.` : `${summary}.\n\n${details}`)
    .addHelpText('after', `\nExamples:\n${examples.map((example) => `  $ ${example}`).join('\n')}`)
    .allowExcessArguments(false);
  for (const option of [...options, ...globalOptions()]) command.addOption(option);
  command.action(async () => exit(await runCommand(command, which, context)));
}

interface Which {
  readonly group: Group;
  readonly spec: CommandSpec;
  /** Its name and arguments. */
  readonly usage: string;
}

async function runCommand(command: Command, { group, spec }: Which, context: CliContext): Promise<ExitCode> {
  const options = command.optsWithGlobals<GlobalOptions & { readonly yes?: true }>();
  const json = options.json === true;
  if (spec.isOffline?.(command.args) === true) {
    const session = openSession(context, { api: NO_API, json, yes: options.yes === true });
    return (await spec.run(session, command.args, command.opts())) ?? EXIT_CODES.done;
  }
  const connection = findConnection(group.surfaces, options, context);
  for (const warning of connectionWarnings(connection)) context.err(`sealgate: warning: ${warning}\n`);
  const timeoutMs = (options.timeout ?? DEFAULT_TIMEOUT_SECONDS) * 1_000;
  const session = openSession(context, { api: adminApi(connection, timeoutMs), json, yes: options.yes === true });
  try {
    return (await spec.run(session, command.args, command.opts())) ?? EXIT_CODES.done;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    context.err(json ? withLineFeed(error.body) : refusalText(error, connection));
    return EXIT_CODES.refused;
  }
}

const offline = (): never => {
  throw new Error('An offline command sends no requests.');
};
const NO_API: AdminApi = { json: offline, text: offline, parts: offline };

/** A command in a list, without `[options]`. */
function subcommandTerm(command: Command): string {
  return [command.name(), ...command.registeredArguments.map((argument) => `<${argument.name()}>`)].join(' ');
}
