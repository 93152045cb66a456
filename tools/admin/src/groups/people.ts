import { Option } from 'commander';
import { apiPath } from '../admin-api.ts';
import { type CommandSpec, integerOption, listOption, yesOption } from '../command-spec.ts';
import { UsageError } from '../errors.ts';
import { given, isObject, type JsonObject, textOf } from '../json-object.ts';
import { pageOptions, type PageOptions, printList } from '../print-list.ts';
import { cellText, type Column, type Format, printable, rowFields } from '../row-table.ts';
import { identityCommands } from './identities.ts';

const COLUMNS: readonly Column[] = [
  { title: 'PERSON', member: 'id' },
  { title: 'NAME', member: 'name' },
  { title: 'KIND', member: 'kind' },
  { title: 'ROLES', member: 'roles' },
  { title: 'UNRESTRICTED', member: 'scope.unrestricted' },
  { title: 'DEPARTMENTS', member: 'scope.departments' },
  { title: 'SENSITIVE', member: 'scope.canReadSensitive' },
];

const KEY_COLUMNS: readonly Column[] = [
  { title: 'KEY', member: 'id' },
  { title: 'LABEL', member: 'label' },
  { title: 'BEGINS WITH', member: 'keyPrefix' },
  { title: 'CREATED', member: 'createdAt' },
  { title: 'LAST USED', member: 'lastUsedAt' },
  { title: 'REVOKED', member: 'revokedAt' },
  { title: 'ENDS', member: 'endsAt' },
];

const scopeText: Format = (value) => {
  if (!isObject(value)) return cellText(value);
  const { unrestricted, departments, canReadSensitive } = value;
  const rows = unrestricted === true ? 'all rows' : `own rows, and departments ${cellText(departments)}`;
  return `${rows}; sensitive ones ${canReadSensitive === true ? 'included' : 'only by role, or own ones'}`;
};

const personText = (row: JsonObject): string => rowFields(row, { scope: scopeText });

const roleOption = (): Option =>
  listOption('--role <name>', 'owner, admin, risk_manager, auditor, contributor, viewer or partner_read');

const scopeOptions = (): Option[] => [
  listOption('--department <name>', 'a department whose rows are visible; repeatable'),
  new Option('--unrestricted', 'rows of all departments are visible'),
  new Option('--sensitive', 'sensitive rows are visible, too'),
];

interface ScopeOptions {
  readonly department?: string[];
  readonly unrestricted?: boolean;
  readonly sensitive?: boolean;
}

const list: CommandSpec<PageOptions> = {
  usage: 'list <orgId>',
  summary: 'List the people of an organisation, oldest first',
  examples: ['sealgate people list org_01', 'sealgate people list org_01 --all'],
  options: pageOptions(),
  run: (session, [orgId = ''], options) => {
    const path = apiPath`/orgs/${orgId}/people`;
    return printList(session, { path, columns: COLUMNS, none: 'The organisation has no people.' }, options);
  },
};

const get: CommandSpec = {
  usage: 'get <orgId> <personId>',
  summary: 'Read a person with roles and scope',
  examples: ['sealgate people get org_01 per_01'],
  run: async (session, [orgId = '', personId = '']) => {
    session.show(
      await session.api.json({ method: 'GET', path: apiPath`/orgs/${orgId}/people/${personId}` }),
      personText,
    );
  },
};

interface AddOptions extends ScopeOptions {
  readonly name: string;
  readonly machine?: boolean;
  readonly role?: string[];
}

const add: CommandSpec<AddOptions> = {
  usage: 'add <orgId>',
  summary: 'Add a person or a machine to an organisation',
  details:
    'Without a role it can only call whoami. A machine of a partner (--machine --role partner_read) reads every row\n' +
    'that is not sensitive. To call the API it needs a key: see "sealgate people mint --help".',
  examples: [
    "sealgate people add org_01 --name 'Head of risk' --role owner",
    "sealgate people add org_01 --name 'Warehouse' --role contributor --department warehouse",
    "sealgate people add org_01 --name 'Partner GmbH' --machine --role partner_read",
  ],
  options: [
    new Option('--name <text>', 'the name of the person').makeOptionMandatory(),
    new Option('--machine', 'a machine, not a human'),
    roleOption(),
    ...scopeOptions(),
  ],
  run: async (session, [orgId = ''], { name, machine, role: roles, department, unrestricted, sensitive }) => {
    const scope = given({ departments: department, unrestricted, canReadSensitive: sensitive });
    const hasScope = Object.keys(scope).length > 0;
    const kind = machine === true ? 'machine' : 'human';
    const body = given({ name, kind, roles, scope: hasScope ? scope : undefined });
    const answer = await session.api.json({ method: 'POST', path: apiPath`/orgs/${orgId}/people`, body });
    session.show(answer, (row) => `Added.\n\n${personText(row)}`);
  },
};

const roles: CommandSpec<{ readonly role?: string[]; readonly roles: boolean }> = {
  usage: 'roles <orgId> <personId>',
  summary: 'Set the roles of a person, from the next request on',
  details: 'The given roles replace all others.',
  examples: ['sealgate people roles org_01 per_01 --role auditor', 'sealgate people roles org_01 per_01 --no-roles'],
  options: [roleOption(), new Option('--no-roles', 'remove all roles')],
  run: async (session, [orgId = '', personId = ''], options) => {
    if ((options.role === undefined) === options.roles) throw new UsageError('Give either --role or --no-roles.');
    const path = apiPath`/orgs/${orgId}/people/${personId}/roles`;
    const answer = await session.api.json({ method: 'PUT', path, body: { roles: options.role ?? [] } });
    session.show(answer, (row) => `The roles were set.\n\n${personText(row)}`);
  },
};

const scope: CommandSpec<ScopeOptions> = {
  usage: 'scope <orgId> <personId>',
  summary: 'Set which rows a person may see, from the next request on',
  details: 'Options that are not given are removed.',
  examples: [
    'sealgate people scope org_01 per_01 --department it --department finance',
    'sealgate people scope org_01 per_01 --unrestricted --sensitive',
    'sealgate people scope org_01 per_01',
  ],
  options: scopeOptions(),
  run: async (session, [orgId = '', personId = ''], { department = [], unrestricted, sensitive }) => {
    const body = {
      departments: department,
      unrestricted: unrestricted === true,
      canReadSensitive: sensitive === true,
    };
    const path = apiPath`/orgs/${orgId}/people/${personId}/scope`;
    const answer = await session.api.json({ method: 'PUT', path, body });
    session.show(answer, (row) => `The scope was set.\n\n${personText(row)}`);
  },
};

const remove: CommandSpec = {
  usage: 'remove <orgId> <personId>',
  summary: 'Remove a person from an organisation; their keys are revoked immediately',
  examples: ['sealgate people remove org_01 per_01', 'sealgate people remove org_01 per_01 --yes'],
  options: [yesOption()],
  run: async (session, [orgId = '', personId = '']) => {
    await session.confirm(`Remove ${personId} from ${orgId}? Their keys are revoked permanently.`);
    await session.api.nothing({ method: 'DELETE', path: apiPath`/orgs/${orgId}/people/${personId}` });
    session.say(`${personId} is removed: their keys are rejected from the next request on.`);
  },
};

interface MintOptions {
  readonly label: string;
  readonly replaces?: string;
  readonly overlapSeconds?: number;
}

const mint: CommandSpec<MintOptions> = {
  usage: 'mint <orgId> <personId>',
  summary: 'Create a key for a person; the raw key is shown only once',
  details: 'A key always has the rights of its person. The same key works for MCP.',
  examples: [
    "sealgate people mint org_01 per_01 --label 'reporting'",
    "sealgate people mint org_01 per_01 --label 'reporting' --replaces key_01 --overlap-seconds 86400",
  ],
  options: [
    new Option('--label <text>', 'its purpose').makeOptionMandatory(),
    new Option('--replaces <keyId>', 'the live key of this person that it replaces'),
    integerOption('--overlap-seconds <n>', 'how long the replaced key stays valid (default: 0)'),
  ],
  run: async (session, [orgId = '', personId = ''], { label, replaces, overlapSeconds }) => {
    const path = apiPath`/orgs/${orgId}/people/${personId}/keys`;
    const body = given({ label, replaces, overlapSeconds });
    session.show(await session.api.json({ method: 'POST', path, body }), mintedText);
  },
};

const keys: CommandSpec<PageOptions> = {
  usage: 'keys <orgId> <personId>',
  summary: 'List the keys of a person, newest first, without the raw keys',
  examples: ['sealgate people keys org_01 per_01'],
  options: pageOptions(),
  run: (session, [orgId = '', personId = ''], options) => {
    const path = apiPath`/orgs/${orgId}/people/${personId}/keys`;
    return printList(session, { path, columns: KEY_COLUMNS, none: 'There are no keys.' }, options);
  },
};

function mintedText({ rawKey, ...row }: JsonObject): string {
  return `The key was created:

  ${printable(textOf(rawKey))}

This is the only time that it is shown: put it where you keep secrets now. Nobody can show it again.

${rowFields(row)}`;
}

export const peopleCommands: readonly CommandSpec[] = [
  list,
  get,
  add,
  roles,
  scope,
  remove,
  mint,
  keys,
  ...identityCommands,
];
