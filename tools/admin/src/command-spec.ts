import { InvalidArgumentError, Option } from 'commander';
import type { ExitCode } from './exit-codes.ts';
import type { Session } from './session.ts';

/** A command is data: it is mounted, documented and tested by what goes through the table of groups. */
export interface CommandSpec<Options extends object = object> {
  /** Its name and arguments, as in `get <networkId>`, after the name of a group within the group where it is in one. */
  readonly usage: string;
  /** One sentence without a full stop, for lists of commands. */
  readonly summary: string;
  /** What else its `--help` says. */
  readonly details?: string;
  /** Whole command lines, shown in its `--help`. */
  readonly examples: readonly string[];
  readonly options?: readonly Option[];
  /** It sends two requests: it reads what it is going to change. */
  readonly readsFirst?: true;
  /** Whether it asks nobody when it is given these arguments; absent: it always asks. */
  isOffline?(args: readonly string[]): boolean;
  /** Does it. `args` are the arguments in order: those in angle brackets are there. Gives the exit code if it is not 0. */
  run(session: Session, args: readonly string[], options: Options): Promise<ExitCode | void>;
}

/** Commands about one thing, and who serves them. */
export interface Group {
  readonly name: string;
  readonly summary: string;
  /** The surfaces whose admin API has these paths; of those that run the first is asked. */
  readonly surfaces: readonly string[];
  /** The groups within it, each with its summary. */
  readonly within?: Readonly<Record<string, string>>;
  readonly commands: readonly CommandSpec[];
}

/** For commands that cannot be undone. */
export const yesOption = (): Option => new Option('--yes', 'do not ask whether you are sure');

/** An option that may be given several times; its values become a list. */
export function listOption(flags: string, description: string): Option {
  const collect = (value: string, previous: string[] = []): string[] => [...previous, value];
  return new Option(flags, `${description} (repeatable)`).argParser(collect);
}

/** An option that takes a whole number. Its range is the API's to judge. */
export function integerOption(flags: string, description: string): Option {
  return new Option(flags, description).argParser(wholeNumber);
}

/** Throws InvalidArgumentError for anything but the decimal digits of a whole number. */
export function wholeNumber(text: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value)) return value;
  throw new InvalidArgumentError('It must be a whole number.');
}
