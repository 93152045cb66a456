import { Option } from 'commander';
import { apiPath } from '../admin-api.ts';
import type { CommandSpec } from '../command-spec.ts';
import { pageOptions, type PageOptions, printList } from '../print-list.ts';
import { type Column, rowFields } from '../row-table.ts';

const COLUMNS: readonly Column[] = [
  { title: 'ORGANISATION', member: 'id' },
  { title: 'NAME', member: 'name' },
  { title: 'CREATED', member: 'createdAt' },
];

const list: CommandSpec<PageOptions> = {
  usage: 'list',
  summary: 'List organisations, oldest first',
  examples: ['sealgate orgs list', 'sealgate orgs list --all --json'],
  options: pageOptions(),
  run: (session, _args, options) =>
    printList(session, { path: apiPath`/orgs`, columns: COLUMNS, none: 'There are no organisations.' }, options),
};

const get: CommandSpec = {
  usage: 'get <orgId>',
  summary: 'Read an organisation',
  examples: ['sealgate orgs get org_01'],
  run: async (session, [orgId = '']) => {
    session.show(await session.api.json({ method: 'GET', path: apiPath`/orgs/${orgId}` }), (row) => rowFields(row));
  },
};

const create: CommandSpec<{ readonly name: string }> = {
  usage: 'create',
  summary: 'Create an organisation',
  details:
    'The service generates its id. Then add an owner, who can add everybody else: see "sealgate people add --help".',
  examples: ["sealgate orgs create --name 'Acme Ltd'"],
  options: [new Option('--name <text>', 'its name').makeOptionMandatory()],
  run: async (session, _args, { name }) => {
    const answer = await session.api.json({ method: 'POST', path: apiPath`/orgs`, body: { name } });
    session.show(answer, (row) => `The organisation was created.\n\n${rowFields(row)}`);
  },
};

export const orgCommands: readonly CommandSpec[] = [list, get, create];
