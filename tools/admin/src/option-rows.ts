import assert from 'node:assert';
import type { JsonValue } from '@sealgate/json';
import { Option } from 'commander';
import { integerOption, listOption } from './command-spec.ts';
import { UsageError } from './errors.ts';
import { isObject, readJsonFile } from './json-object.ts';
import type { Field, Fields, Operation } from './operations.ts';

/** Options by their flags, such as `--label <text>`. A string is the words of one whose flag names what it sets. */
export type OptionRows = Readonly<Record<string, string | OptionRow>>;

/** What the document does not say of an option. */
export interface OptionRow {
  /** By default those of the document. */
  readonly words?: string;
  /**
   * The parameter or member that it sets, or a path to it such as `limits.burst`; by default the one that its flag
   * names, in the singular for a list. Null: none, because code reads it.
   */
  readonly sets?: string | null;
  /** Code reads it, and sets that. */
  readonly byCode?: true;
  /** The value that it sets; by default that of the command line. */
  readonly to?: JsonValue;
  /** Needed here, although the document does not require it. */
  readonly required?: true;
  /** Offers the values of the document, and accepts no other. */
  readonly choices?: true;
  /** May be repeated; by default if it sets a list. */
  readonly list?: true;
  /** Shown in the help. */
  readonly default?: string;
}

/** The options of a command line by their names, as parsed by commander. */
export type Given = Readonly<Record<string, unknown>>;

export type JsonMembers = { [member: string]: JsonValue };

/** An option, and what it sets. */
interface Input {
  readonly option: Option;
  readonly part: 'query' | 'body';
  /** Empty if code reads it. */
  readonly path: readonly string[];
  readonly field: Field | undefined;
  readonly to: JsonValue | undefined;
}

/** The options of a command, and what they say of its request. */
export class Inputs {
  readonly #inputs: readonly Input[];
  readonly #fields: Fields;

  /** @throws AssertionError for an option that sets nothing of the operation. */
  constructor(operation: Operation, rows: OptionRows) {
    this.#fields = operation.body ?? {};
    this.#inputs = Object.entries(rows).map(([flags, row]) => inputOf(operation, flags, rowOf(row)));
    for (const input of this.#inputs) input.option.conflicts(rivalsOf(input, this.#inputs));
  }

  get options(): Option[] {
    return this.#inputs.map(({ option }) => option);
  }

  /** Only what was given. @throws UsageError for options that lack another one. */
  read(given: Given): { readonly query: Record<string, string>; readonly body: JsonMembers } {
    const query: Record<string, string> = {};
    const body: JsonMembers = {};
    const chosen = this.#inputs.filter((input) => input.path.length > 0 && isGiven(input, given));
    for (const input of chosen) {
      const value = valueOf(input, given);
      if (input.part === 'query') query[input.path.join('.')] = String(value);
      else setMember(body, input.path, value);
    }
    for (const [name, field] of Object.entries(this.#fields)) this.#rejectPart(name, field, body[name]);
    return { query, body };
  }

  /** A needed member with several options, of which none can be mandatory, and an object without a needed member. */
  #rejectPart(name: string, { required, members = {} }: Field, value: JsonValue | undefined): void {
    const flags = flagsOf(this.#inputs, [name]);
    if (required === true && value === undefined && flags.length > 1)
      throw new UsageError(`Give either ${flags.join(' or ')}.`);
    if (!isObject(value)) return;
    const needed = Object.keys(members).filter((member) => members[member]?.required === true);
    const together = needed.flatMap((member) => flagsOf(this.#inputs, [name, member]));
    if (together.length > 0 && needed.some((member) => value[member] === undefined))
      throw new UsageError(`${together.join(' and ')} go together.`);
  }
}

/** Names of other options that set the same, or a part of it. Commander gives `--no-name` and `--name` the same name. */
function rivalsOf({ option, path }: Input, inputs: readonly Input[]): string[] {
  const own = option.attributeName();
  const isRival = (other: Input): boolean =>
    path.length > 0 && other.path.length > 0 && path.every((name, at) => name === (other.path[at] ?? name));
  return inputs
    .filter(isRival)
    .flatMap((other) => (other.option.attributeName() === own ? [] : other.option.attributeName()));
}

/** The options that set this. */
function flagsOf(inputs: readonly Input[], path: readonly string[]): string[] {
  const same = inputs.filter((input) => input.path.join('.') === path.join('.'));
  return same.map(({ option }) => option.long ?? option.flags);
}

function inputOf(operation: Operation, flags: string, row: OptionRow): Input {
  const { part = 'body', path: target = [], field } = targetOf(operation, flags, row) ?? {};
  const path = row.byCode === true ? [] : target;
  const option = optionOf(flags, row, field);
  if (row.default !== undefined) option.default(row.default);
  const isWhole = path.length === 1 && row.to === undefined && field?.type !== 'list';
  if (row.required === true || (isWhole && field?.required === true)) option.makeOptionMandatory();
  return { option, part, path, field, to: row.to };
}

function optionOf(flags: string, row: OptionRow, field: Field | undefined): Option {
  const { to, list, choices, words = field === undefined ? '' : wordsOf(field, choices) } = row;
  if (to !== undefined) return new Option(flags, words);
  if (list === true || field?.type === 'list') return listOption(flags, words);
  if (field?.type === 'integer') return integerOption(flags, words);
  const option = new Option(flags, words);
  if (choices === true) option.choices(field?.choices ?? []);
  return field?.type === 'boolean' && option.required ? option.choices(['true', 'false']) : option;
}

/** What the document says, as in `sha1 or sha256; default sha1`. Commander lists the choices that it checks. */
export function wordsOf({ description = '', type, choices: given = [] }: Field, isChecked = false): string {
  const choices = given.map((choice) => (/\w/.test(choice) ? choice : `"${choice}"`));
  const named = choices.length === 0 || isChecked ? '' : `${choices.slice(0, -1).join(', ')} or ${choices.at(-1)}`;
  // An acronym stays as it is.
  const words = description.replace(/\.$/, '').replace(/^[A-Z](?![A-Z])/, (letter) => letter.toLowerCase());
  return [named, words, ...(type === 'time' ? ['RFC 3339'] : [])].filter((part) => part !== '').join('; ');
}

export const rowOf = (row: string | OptionRow): OptionRow => (typeof row === 'string' ? { words: row } : row);

/** What an option sets; undefined if only code knows. @throws AssertionError if the operation does not have it. */
export function targetOf(
  { query, body = {} }: Operation,
  flags: string,
  { sets }: OptionRow,
): Pick<Input, 'part' | 'path' | 'field'> | undefined {
  if (sets === null) return undefined;
  const [first = '', ...rest] = (sets ?? new Option(flags).attributeName()).split('.');
  const part = memberNamed(body, first) === undefined ? 'query' : 'body';
  let fields = part === 'body' ? body : query;
  let field: Field | undefined;
  const path = [first, ...rest].map((name) => {
    const member = memberNamed(fields, name);
    assert(member !== undefined, `An option sets ${[first, ...rest].join('.')}, which the operation does not have.`);
    field = fields[member];
    fields = field?.members ?? {};
    return member;
  });
  return { part, path, field };
}

/** The member that is named so in camelCase or snake_case, or a list of what is named. */
export function memberNamed(fields: Fields, name: string): string | undefined {
  const wanted = plain(name);
  return Object.keys(fields).find((member) => plain(member) === wanted || plain(member) === `${wanted}s`);
}

/** The words of a name in lower case, with that between them. */
export function plain(name: string, between = ''): string {
  return name
    .replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    .replace(/^_/, '')
    .replaceAll('_', between);
}

/** Commander sets the name of `--no-name` to false, and to true without it. */
function isGiven({ option }: Input, given: Given): boolean {
  const value = given[option.attributeName()];
  return option.negate ? value === false : value !== undefined && value !== false;
}

function valueOf({ option, field, to }: Input, given: Given): JsonValue {
  const value = given[option.attributeName()] as JsonValue;
  if (to !== undefined) return to;
  if (field?.type === 'json') return readJsonFile(String(value));
  return field?.type === 'boolean' && option.required ? value === 'true' : value;
}

function setMember(body: JsonMembers, [first = '', ...rest]: readonly string[], value: JsonValue): void {
  if (rest.length === 0) {
    body[first] = value;
    return;
  }
  const inner = { ...(body[first] as JsonMembers | undefined) };
  setMember(inner, rest, value);
  body[first] = inner;
}
