import assert from 'node:assert';
import { Option } from 'commander';
import { segment, type Call, type JsonAnswer } from './admin-api.ts';
import { type CodeCommand, type CommandSpec, type Group, yesOption } from './command-spec.ts';
import { type ExitCode, UsageError } from './errors.ts';
import type { JsonObject } from './json-object.ts';
import { memberOptions } from './member-options.ts';
import { operations, type Operation } from './operations.ts';
import { type Given, Inputs, type JsonMembers, memberNamed, type OptionRows } from './option-rows.ts';
import { pageOptions, printCsv, printList } from './print-list.ts';
import { type Column, type Format, rowFields } from './row-table.ts';
import type { Session } from './session.ts';

/**
 * A command that sends one request: what the OpenAPI document of its operation does not say. Its arguments are the
 * parameters of the path in order, then members of the body by name. Texts name arguments and options as in
 * `<networkId>`.
 */
export interface Row {
  /** The operationId. */
  readonly operation: string;
  /** One sentence without a full stop, for lists of commands; by default that of the document. */
  readonly summary?: string;
  /** Further text of its `--help`, after the description of the document. */
  readonly details?: string;
  /** Complete command lines, shown in its `--help`; by default with its arguments, and with `--all` or `--yes`. */
  readonly examples?: readonly string[];
  /** What differs from one for each parameter and member; see `memberOptions`. */
  readonly options?: OptionRows;
  /** Other parameters and members have none. */
  readonly only?: true;
  /** Members of the body that options may replace. */
  readonly body?: JsonObject;
  /** Prints a list as a table: titles, each with its member, such as `NETWORK networkId, BURST limits.burst`. */
  readonly columns?: string;
  /** Formats of members in that table. */
  readonly cells?: Readonly<Record<string, Format>>;
  /** Printed for an empty list, such as `There are no networks.` */
  readonly none?: string;
  /** Asks for confirmation with this question. */
  readonly confirm?: string;
  /** A wrong use if nothing is to be changed, in a sentence. */
  readonly unchanged?: string;
  /** What was done, in a sentence. */
  readonly done?: string;
  /** The answer for people; by default that of its group, else its members. */
  readonly text?: (answer: JsonObject) => string;
  /** The exit code if it depends on the answer. */
  readonly exit?: (answer: JsonObject) => ExitCode | undefined;
  /** It sends two requests: it reads before the change. */
  readonly readsFirst?: true;
  /** Completes the body from what the document does not know, such as files. Returns what to print after `done`. */
  readonly complete?: (body: JsonMembers, from: Completing) => Promise<string | void>;
  /** Sends the request and prints the answer in its own way, or sends further ones. */
  readonly run?: (
    session: Session,
    request: Request,
    args: readonly string[],
    given: Given,
  ) => Promise<ExitCode | void>;
}

/** A group as a table: a row for each command that is a request, and others as code. */
export interface GroupRows extends Omit<Group, 'commands'> {
  /** The answers of its rows for people; by default their members. */
  readonly text?: Row['text'];
  /** By name and arguments, such as `get <networkId>`, with the name of a nested group before it. */
  readonly commands: Readonly<Record<string, Row | CodeCommand>>;
}

export interface Completing {
  readonly session: Session;
  readonly given: Given;
  readonly args: readonly string[];
  readonly path: string;
}

export type Request = Call & { readonly query: Readonly<Record<string, string>> };

/** Where a row is: its group, with name and arguments. */
interface Place {
  readonly name: string;
  readonly usage: string;
  readonly surfaces: readonly string[];
  readonly text?: Row['text'];
}

/** Arguments of examples. */
const SAMPLES: Given = {
  networkId: 'acme',
  keyId: 'key_01',
  sourceId: 'src_AAAAAAAAAAAAAAAAAAAAAA',
  eventId: 'evt_01',
  venueId: 'harbour-hall',
  policyVersion: '2030-01',
  subjectRef: 'subj_ada',
  decisionId: 'gd_01',
  orgId: 'org_01',
  personId: 'per_01',
  identityId: 'idn_01',
  frameworkId: 'fwk_01',
  channel: 'acme.main',
  recordId: 'order-7',
};

/** The command of a row. @throws AssertionError for a row that contradicts the document of the surface. */
export function rowCommand(
  row: Row,
  { name: group, usage, surfaces: [surface = ''], text = rowFields }: Place,
): CommandSpec<Given> {
  const { columns, confirm, options = {} } = row;
  const operation = operations[surface]?.[row.operation];
  assert(operation !== undefined, `The admin API of ${surface} has no ${row.operation}.`);
  const names = [...usage.matchAll(/<(\w+)>/g)].map(([, name = '']) => name);
  const members = membersOf(operation, names);
  const inputs = new Inputs(
    operation,
    row.only === true ? options : memberOptions(operation, options, [...members.keys()]),
  );
  const isPaged = columns !== undefined && 'cursor' in operation.query;
  return {
    ...row,
    usage,
    summary: row.summary ?? operation.summary,
    details: [operation.description, row.details].filter((text) => text !== undefined).join('\n'),
    examples: row.examples ?? examplesOf(`sealgate ${group} ${filled(usage, SAMPLES)}`, row, isPaged),
    options: [
      ...inputs.options,
      ...(confirm === undefined ? [] : [yesOption()]),
      ...(isPaged ? [...pageOptions(), ...csvOptions(operations[surface], row)] : []),
    ],
    run: async (session, args, given) => {
      const path = pathOf(operation, args);
      const { query, body: said } = inputs.read(given);
      const ofArguments = Object.fromEntries([...members].map(([member, at]) => [member, args[at] ?? '']));
      const body: JsonMembers = { ...ofArguments, ...row.body, ...said };
      const more = await row.complete?.(body, { session, given, args, path });
      if (row.unchanged !== undefined && Object.keys(body).length === 0) throw new UsageError(row.unchanged);
      const values = { ...given, ...Object.fromEntries(names.map((name, at) => [name, args[at]])) };
      if (confirm !== undefined) await session.confirm(filled(confirm, values));
      const done = filled(row.done ?? '', values);
      const request = { method: operation.method, path, query, ...(operation.body === undefined ? {} : { body }) };
      return send(session, {
        row: { text, ...row },
        operation,
        request,
        args,
        given,
        told: done === '' ? '' : `${done}\n${more ?? ''}\n`,
      });
    },
  };
}

const examplesOf = (command: string, { confirm }: Row, isPaged: boolean): string[] =>
  ['', ...(isPaged ? [' --all --json'] : []), ...(confirm === undefined ? [] : [' --yes'])].map(
    (more) => command + more,
  );

interface Sending {
  readonly row: Row;
  readonly operation: Operation;
  readonly request: Request;
  readonly args: readonly string[];
  readonly given: Given;
  readonly told: string;
}

async function send(
  session: Session,
  { row, operation, request, args, given, told }: Sending,
): Promise<ExitCode | void> {
  const { columns, cells, none = 'There is nothing.', text = rowFields } = row;
  if (given['csv'] === true) return printCsv(session, request);
  if (row.run !== undefined) return row.run(session, request, args, given);
  if (columns !== undefined) return printList(session, { ...request, columns: columnsOf(columns, cells), none }, given);
  if (operation.answer === 'nothing') {
    await session.api.text(request);
    session.say(told.trimEnd());
    return undefined;
  }
  const answer: JsonAnswer = await session.api.json(request);
  session.show(answer, (members) => told + text(members));
  return row.exit?.(answer.value);
}

/** Of a list that has an export: all of it, in its own form. */
function csvOptions(ofSurface: (typeof operations)[string] | undefined, { operation }: Row): Option[] {
  if (ofSurface?.[operation.replace(/^list/, 'export')] === undefined) return [];
  const option = new Option('--csv', 'the whole list as CSV; for operators, and audited');
  return [option.conflicts(['limit', 'cursor', 'all', 'json'])];
}

/** @throws UsageError for an argument that cannot be part of a path. */
function pathOf({ path }: Operation, args: readonly string[]): string {
  const left = [...args];
  return path.replaceAll(/\{\w+\}/g, () => segment(left.shift() ?? ''));
}

/** The members of the body that are arguments, by their places: after those of the path, but not what code reads. */
function membersOf({ path, body = {} }: Operation, names: readonly string[]): Map<string, number> {
  const inPath = path.split('{').length - 1;
  const members = names.map((name, at) => [at < inPath ? undefined : memberNamed(body, name), at] as const);
  return new Map(members.filter((entry): entry is readonly [string, number] => entry[0] !== undefined));
}

function filled(text: string, values: Given): string {
  return text.replaceAll(/<(\w+)>/g, (_, name: string) => String(values[name] ?? name));
}

function columnsOf(columns: string, cells: Row['cells'] = {}): Column[] {
  return columns.split(', ').map((column) => {
    const [title = '', member = ''] = column.split(/ (?=\S+$)/);
    const format = cells[member];
    return format === undefined ? { title, member } : { title, member, format };
  });
}
