import { InvalidArgumentError, Option } from 'commander';
import type { ExitCode } from './errors.ts';
import type { ConnectionOptions } from './find-connection.ts';
import type { Session } from './session.ts';

/** A command whose options and request are code. */
export interface CodeCommand<Options extends object = object> {
  /** One sentence without a full stop, for lists of commands. */
  readonly summary: string;
  /** Further text of its `--help`. */
  readonly details?: string;
  /** Complete command lines, shown in its `--help`. */
  readonly examples: readonly string[];
  readonly options?: readonly Option[];
  /** It sends two requests: it reads before the change. */
  readonly readsFirst?: true;
  /** Whether it sends no request with these arguments; undefined: it always does. */
  isOffline?(args: readonly string[]): boolean;
  /**
   * Runs it. `args` are the arguments in order; those in angle brackets are present. Returns the exit code if it is not
   * 0.
   */
  run(session: Session, args: readonly string[], options: Options): Promise<ExitCode | void>;
}

/** A command as it is mounted, documented and tested. */
export interface CommandSpec<Options extends object = object> extends CodeCommand<Options> {
  /** Its name and arguments, such as `get <networkId>`, with the name of a nested group before it. */
  readonly usage: string;
}

/** A group of commands, and the surfaces that serve it. */
export interface Group {
  readonly name: string;
  readonly summary: string;
  /** The surfaces whose admin API has these paths; the first running one is used. */
  readonly surfaces: readonly string[];
  /** Nested groups, each with a summary. */
  readonly within?: Readonly<Record<string, string>>;
  readonly commands: readonly CommandSpec[];
}

/** For commands that cannot be undone. */
export const yesOption = (): Option => new Option('--yes', 'do not ask for confirmation');

/** An option that may be repeated; its values form a list. */
export function listOption(flags: string, description: string): Option {
  const collect = (value: string, previous: string[] = []): string[] => [...previous, value];
  return new Option(flags, `${description} (repeatable)`).argParser(collect);
}

/** An integer option. Its range is checked by the API. */
export function integerOption(flags: string, description: string): Option {
  return new Option(flags, description).argParser(wholeNumber);
}

/** @throws InvalidArgumentError unless it consists of decimal digits. */
export function wholeNumber(text: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value)) return value;
  throw new InvalidArgumentError('It must be a whole number.');
}

/** Options of every command, before or after its name. */
export interface GlobalOptions extends ConnectionOptions {
  readonly json?: true;
  readonly timeout?: number;
}

export const DEFAULT_TIMEOUT_SECONDS = 30;
/** The limit of Node's `fetch`, whatever timeout is set. */
const MAX_TIMEOUT_SECONDS = 300;

export function globalOptions(): Option[] {
  return [
    new Option('--json', "print the API's JSON unchanged; problem documents go to standard error"),
    new Option('--admin-url <url>', 'address of the admin API (also SEALGATE_ADMIN_URL)'),
    new Option(
      '--token <token>',
      'admin token; others can see it here, so prefer --token-file or SEALGATE_ADMIN_TOKEN',
    ),
    new Option('--token-file <file>', 'a file with the admin token'),
    new Option(
      '--dev-json <path>',
      'take both from this file of `npm start` (default: .sealgate/dev.json, here or above)',
    ),
    new Option(
      '--timeout <seconds>',
      `timeout of a request, 1 to ${MAX_TIMEOUT_SECONDS} (default: ${DEFAULT_TIMEOUT_SECONDS})`,
    ).argParser(timeoutSeconds),
  ].map((option) => option.helpGroup('Options of every command:'));
}

function timeoutSeconds(text: string): number {
  const seconds = wholeNumber(text);
  if (seconds >= 1 && seconds <= MAX_TIMEOUT_SECONDS) return seconds;
  throw new InvalidArgumentError(`It must be from 1 to ${MAX_TIMEOUT_SECONDS}.`);
}
