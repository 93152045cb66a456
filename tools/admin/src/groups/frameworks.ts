import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Option } from 'commander';
import { apiPath } from '../admin-api.ts';
import { type CommandSpec, listOption } from '../command-spec.ts';
import { UsageError } from '../errors.ts';
import { isObject, type JsonObject } from '../json-object.ts';
import { pageOptions, type PageOptions, printList } from '../print-list.ts';
import { type Column, rowFields } from '../row-table.ts';

const COLUMNS: readonly Column[] = [
  { title: 'FRAMEWORK', member: 'id' },
  { title: 'NAME', member: 'name' },
  { title: 'VERSION', member: 'version' },
  { title: 'CREATED', member: 'createdAt' },
];

const list: CommandSpec<PageOptions> = {
  usage: 'list <orgId>',
  summary: 'List the frameworks of an organisation, oldest first',
  examples: ['sealgate frameworks list org_01'],
  options: pageOptions(),
  run: (session, [orgId = ''], options) => {
    const path = apiPath`/orgs/${orgId}/frameworks`;
    return printList(session, { path, columns: COLUMNS, none: 'The organisation has no frameworks.' }, options);
  },
};

const get: CommandSpec = {
  usage: 'get <orgId> <frameworkId>',
  summary: 'Read a framework with its requirements',
  examples: ['sealgate frameworks get org_01 fwk_01'],
  run: async (session, [orgId = '', frameworkId = '']) => {
    const path = apiPath`/orgs/${orgId}/frameworks/${frameworkId}`;
    session.show(await session.api.json({ method: 'GET', path }), frameworkText);
  },
};

interface CreateOptions {
  readonly name: string;
  readonly frameworkVersion: string;
  readonly requirement?: string[];
  readonly requirements?: string;
}

const create: CommandSpec<CreateOptions> = {
  usage: 'create <orgId>',
  summary: 'Create a framework for an organisation',
  details:
    'Requirements are given as <id>=<title>, or in a file with a line "<id> <title>" for each, such as --requirements annex-a.txt.\n' +
    'A framework is immutable: create another one for a new edition.',
  examples: [
    "sealgate frameworks create org_01 --name 'House rules' --framework-version 1 --requirement 'H.1=Lock the door'",
  ],
  options: [
    new Option('--name <text>', 'its name').makeOptionMandatory(),
    new Option('--framework-version <text>', 'its edition').makeOptionMandatory(),
    listOption('--requirement <id=title>', 'a requirement'),
    new Option('--requirements <file>', 'a file of requirements, one per line'),
  ],
  run: async (session, [orgId = ''], { name, frameworkVersion: version, requirement, requirements: file }) => {
    const named = (requirement ?? []).map((text) => parted(text, '='));
    const read = file === undefined ? [] : linesOf(file).map((line) => parted(line, ' '));
    if (named.length + read.length === 0) throw new UsageError('Give --requirement or --requirements.');
    const body = { name, version, requirements: [...named, ...read] };
    const answer = await session.api.json({ method: 'POST', path: apiPath`/orgs/${orgId}/frameworks`, body });
    session.show(answer, (row) => `The framework was created.\n\n${frameworkText(row)}`);
  },
};

function linesOf(file: string): string[] {
  try {
    const lines = readFileSync(resolve(file), 'utf8').split('\n');
    return lines.map((line) => line.trim()).filter((line) => line !== '');
  } catch (error) {
    throw new UsageError(`${file} cannot be read.`, { cause: error });
  }
}

function parted(text: string, between: string): { id: string; title: string } {
  const at = text.indexOf(between);
  if (at < 1) throw new UsageError(`A requirement must have the form <id>${between}<title>.`);
  return { id: text.slice(0, at), title: text.slice(at + between.length).trim() };
}

function frameworkText({ requirements, ...row }: JsonObject): string {
  const listed = Array.isArray(requirements) ? requirements.filter(isObject) : [];
  const texts = Object.fromEntries(listed.map(({ id, title }) => [String(id), title ?? null]));
  return `${rowFields(row)}\n${rowFields(texts)}`;
}

export const frameworkCommands: readonly CommandSpec[] = [list, get, create];
