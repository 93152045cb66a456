import { Option } from 'commander';
import { apiPath } from '../admin-api.ts';
import { type CommandSpec, environmentOption, type EnvironmentOptions, yesOption } from '../command-spec.ts';
import { given, readJsonFile } from '../json-object.ts';
import { pageOptions, type PageOptions, printList } from '../print-list.ts';
import { type Column, type Format, rowFields } from '../row-table.ts';

const COLUMNS: readonly Column[] = [
  { title: 'VERSION', member: 'policy_version' },
  { title: 'ENVIRONMENT', member: 'environment' },
  { title: 'STATUS', member: 'status' },
  { title: 'CREATED', member: 'created_at' },
  { title: 'UPDATED', member: 'updated_at' },
];

const rulesText: Format = (value) => (value === null ? 'none' : JSON.stringify(value, null, 2));

const list: CommandSpec<PageOptions & EnvironmentOptions> = {
  usage: 'list',
  summary: 'List the policy versions of an environment',
  examples: ['sealgate policies list', 'sealgate policies list --environment test --all'],
  options: [environmentOption(), ...pageOptions()],
  run: (session, _args, options) => {
    const { environment } = options;
    const none = 'There are no policy versions.';
    return printList(session, { path: apiPath`/policies`, query: { environment }, columns: COLUMNS, none }, options);
  },
};

const get: CommandSpec<EnvironmentOptions> = {
  usage: 'get <policyVersion>',
  summary: 'Read a policy version with its rules',
  examples: ['sealgate policies get 2030-01'],
  options: [environmentOption()],
  run: async (session, [version = ''], { environment }) => {
    const path = apiPath`/policies/${version}`;
    const answer = await session.api.json({ method: 'GET', path, query: { environment } });
    session.show(answer, (row) => rowFields(row, { rules: rulesText }));
  },
};

const create: CommandSpec<EnvironmentOptions & { rules?: string; active?: true }> = {
  usage: 'create <policyVersion>',
  summary: 'Create a policy version, as a draft or active',
  details: 'Without --rules each decision must state its outcome. Rules are immutable once it is active.',
  examples: ['sealgate policies create 2030-01', 'sealgate policies create 2030-01 --active --environment test'],
  options: [
    new Option('--rules <file>', 'its rules as JSON: {"rules": [{when, decision, reason_codes}], "default": {...}}'),
    new Option('--active', 'make it active at once'),
    environmentOption(),
  ],
  run: async (session, [version = ''], { rules, active, environment }) => {
    const status = active === true ? 'active' : undefined;
    const read = rules === undefined ? undefined : readJsonFile(rules);
    const body = { policy_version: version, ...given({ environment, status, rules: read }) };
    const answer = await session.api.json({ method: 'POST', path: apiPath`/policies`, body });
    session.show(answer, (row) => `The policy version was created.\n\n${rowFields(row, { rules: rulesText })}`);
  },
};

const activate: CommandSpec<EnvironmentOptions> = {
  usage: 'activate <policyVersion>',
  summary: 'Activate a draft for decisions; its rules become immutable',
  examples: ['sealgate policies activate 2030-01'],
  options: [environmentOption()],
  run: async (session, [version = ''], { environment }) => {
    const path = apiPath`/policies/${version}`;
    const answer = await session.api.json({
      method: 'PATCH',
      path,
      query: { environment },
      body: { status: 'active' },
    });
    session.show(answer, (row) => `The policy version is active.\n\n${rowFields(row, { rules: rulesText })}`);
  },
};

const retire: CommandSpec<EnvironmentOptions> = {
  usage: 'retire <policyVersion>',
  summary: 'Retire a version permanently; earlier decisions stay',
  examples: ['sealgate policies retire 2029-12', 'sealgate policies retire 2029-12 --yes'],
  options: [environmentOption(), yesOption()],
  run: async (session, [version = ''], { environment }) => {
    const path = apiPath`/policies/${version}`;
    await session.confirm(`Retire the policy version ${version}? It can never be used for decisions again.`);
    const answer = await session.api.json({
      method: 'PATCH',
      path,
      query: { environment },
      body: { status: 'retired' },
    });
    session.show(answer, (row) => `The policy version is retired.\n\n${rowFields(row, { rules: rulesText })}`);
  },
};

export const policyCommands: readonly CommandSpec[] = [list, get, create, activate, retire];
