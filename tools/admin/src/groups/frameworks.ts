import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Option } from 'commander';
import { apiPath } from '../api-path.ts';
import { listOption, type CommandSpec } from '../command-spec.ts';
import { isObject, type JsonObject } from '../json-object.ts';
import { pageOptions, printList, type PageOptions } from '../print-list.ts';
import { rowFields } from '../row-fields.ts';
import type { Column } from '../row-table.ts';
import { UsageError } from '../usage-error.ts';

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
  summary: 'Give an organisation a framework',
  details:
    'Requirements are named one by one as <id>=<title>, or come from a file with a line "<id> <title>" for each, as --requirements annex-a.txt.\n' +
    'A framework does not change: a new edition is another one.',
  examples: [
    "sealgate frameworks create org_01 --name 'House rules' --framework-version 1 --requirement 'H.1=Lock the door'",
  ],
  options: [
    new Option('--name <text>', 'what it is called').makeOptionMandatory(),
    new Option('--framework-version <text>', 'which edition of it').makeOptionMandatory(),
    listOption('--requirement <id=title>', 'a requirement'),
    new Option('--requirements <file>', 'a file of requirements, a line each'),
  ],
  run: async (session, [orgId = ''], { name, frameworkVersion: version, requirement, requirements: file }) => {
    const named = (requirement ?? []).map((text) => parted(text, '='));
    const read = file === undefined ? [] : linesOf(file).map((line) => parted(line, ' '));
    if (named.length + read.length === 0) throw new UsageError('Give --requirement or --requirements.');
    const body = { name, version, requirements: [...named, ...read] };
    const answer = await session.api.json({ method: 'POST', path: apiPath`/orgs/${orgId}/frameworks`, body });
    session.show(answer, (row) => `The framework was made.\n\n${frameworkText(row)}`);
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
  if (at < 1) throw new UsageError(`A requirement is written <id>${between}<title>.`);
  return { id: text.slice(0, at), title: text.slice(at + between.length).trim() };
}

function frameworkText({ requirements, ...row }: JsonObject): string {
  const listed = Array.isArray(requirements) ? requirements.filter(isObject) : [];
  const texts = Object.fromEntries(listed.map(({ id, title }) => [String(id), title ?? null]));
  return `${rowFields(row)}\n${rowFields(texts)}`;
}

export const frameworkCommands: readonly CommandSpec[] = [list, get, create];
