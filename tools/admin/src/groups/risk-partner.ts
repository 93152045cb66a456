import { LABEL, mintedText, successorOf } from '../common-rows.ts';
import { isObject, type JsonObject } from '../json-object.ts';
import type { OptionRows } from '../option-rows.ts';
import type { GroupRows } from '../row-command.ts';
import { cellText, type Format, rowFields } from '../row-table.ts';
import { createFramework, frameworkText } from './framework-requirements.ts';

const surfaces = ['risk-partner'];

const orgs: GroupRows = {
  name: 'orgs',
  summary: 'Organisations with their risks, controls and evidence.',
  surfaces,
  commands: {
    list: {
      operation: 'listOrgs',
      examples: ['sealgate orgs list', 'sealgate orgs list --all --json'],
      columns: 'ORGANISATION id, NAME name, CREATED createdAt',
      none: 'There are no organisations.',
    },
    'get <orgId>': { operation: 'getOrg' },
    create: {
      operation: 'createOrg',
      details:
        'The service generates its id. Then add an owner, who can add everybody else: see "sealgate people add --help".',
      examples: ["sealgate orgs create --name 'Acme Ltd'"],
      options: { '--name <text>': 'its name' },
      done: 'The organisation was created.',
    },
  },
};

const scopeText: Format = (value) => {
  if (!isObject(value)) return cellText(value);
  const { unrestricted, departments, canReadSensitive } = value;
  const rows = unrestricted === true ? 'all rows' : `own rows, and departments ${cellText(departments)}`;
  return `${rows}; sensitive ones ${canReadSensitive === true ? 'included' : 'only by role, or own ones'}`;
};

const personText = (row: JsonObject): string => rowFields(row, { scope: scopeText });

const ROLE: OptionRows = { '--role <name>': '<choices>' };

/** The options of a scope; `within` is the path to its member, with a dot. */
const scopeOptions = (within: string): OptionRows => ({
  '--department <name>': { words: 'a department whose rows are visible; repeatable', sets: `${within}departments` },
  '--unrestricted': { words: 'rows of all departments are visible', sets: `${within}unrestricted`, to: true },
  '--sensitive': { words: 'sensitive rows are visible, too', sets: `${within}canReadSensitive`, to: true },
});

const IDENTITIES: GroupRows['commands'] = {
  'identities list <orgId> <personId>': {
    operation: 'listIdentities',
    columns: 'IDENTITY id, ISSUER issuer, SUBJECT subject, INVITED email, CREATED createdAt, INVITATION ENDS expiresAt',
    none: 'There are no identities: this person cannot sign in.',
  },
  'identities link <orgId> <personId>': {
    operation: 'addIdentity',
    summary: 'Link an identity to a person: issuer and subject of their access tokens',
    details:
      'It takes effect from the next request on. An identity is one person in an organisation, and may be a person in several.',
    examples: ['sealgate people identities link org_01 per_01 --issuer https://login.example.com --subject 00u1a2b3'],
    options: {
      '--issuer <url>': { words: 'the issuer, exactly as in its tokens', required: true },
      '--subject <text>': { words: 'the subject in its tokens', required: true },
    },
    done: 'Linked.',
  },
  'identities unlink <orgId> <personId> <identityId>': {
    operation: 'removeIdentity',
    summary: 'Remove an identity or an invitation; its tokens are rejected from the next request on',
    details: 'Keys of the person stay, including those created after signing in.',
    done: '<identityId> is removed: its tokens are rejected from the next request on.',
  },
  'identities invite <orgId> <personId>': {
    operation: 'addIdentity',
    summary: 'Link the first identity that signs in with this verified e-mail address within 14 days',
    details: 'No e-mail is sent: tell the person to sign in.',
    examples: ['sealgate people identities invite org_01 per_01 --email ada@example.com'],
    options: { '--email <address>': { words: 'an address verified by a configured provider', required: true } },
    done: 'Invited.',
  },
  'identities unlinked': {
    operation: 'listUnlinkedIdentities',
    summary: 'List identities that signed in within 24 hours and belong to nobody, newest first',
    details: 'Link one by its issuer and subject; the e-mail address is only for display.',
    columns: 'ISSUER issuer, SUBJECT subject, EMAIL email, VERIFIED emailVerified, LAST SEEN lastSeenAt',
    none: 'Nobody without a link presented a valid token in the last 24 hours.',
  },
};

const people: GroupRows = {
  name: 'people',
  summary: 'People and machines of an organisation: their roles, visible rows, keys (svc_) and sign-in identities.',
  surfaces,
  text: personText,
  within: { identities: 'Identities of a person at an identity provider.' },
  commands: {
    'list <orgId>': {
      operation: 'listPeople',
      examples: ['sealgate people list org_01', 'sealgate people list org_01 --all'],
      columns:
        'PERSON id, NAME name, KIND kind, ROLES roles, UNRESTRICTED scope.unrestricted, DEPARTMENTS scope.departments, ' +
        'SENSITIVE scope.canReadSensitive',
      none: 'The organisation has no people.',
    },
    'get <orgId> <personId>': {
      operation: 'getPerson',
      summary: 'Read a person with roles and scope',
    },
    'add <orgId>': {
      operation: 'addPerson',
      summary: 'Add a person or a machine to an organisation',
      details:
        'Without a role it can only call whoami. A machine of a partner (--machine --role partner_read) reads every row\n' +
        'that is not sensitive. To call the API it needs a key: see "sealgate people mint --help".',
      examples: [
        "sealgate people add org_01 --name 'Head of risk' --role owner",
        "sealgate people add org_01 --name 'Warehouse' --role contributor --department warehouse",
        "sealgate people add org_01 --name 'Partner GmbH' --machine --role partner_read",
      ],
      options: {
        '--name <text>': 'the name of the person',
        '--machine': { words: 'a machine, not a human', sets: 'kind', to: 'machine' },
        ...ROLE,
        ...scopeOptions('scope.'),
      },
      body: { kind: 'human' },
      done: 'Added.',
    },
    'roles <orgId> <personId>': {
      operation: 'setRoles',
      summary: 'Set the roles of a person, from the next request on',
      details: 'The given roles replace all others.',
      examples: [
        'sealgate people roles org_01 per_01 --role auditor',
        'sealgate people roles org_01 per_01 --no-roles',
      ],
      options: { ...ROLE, '--no-roles': { words: 'remove all roles', to: [] } },
      done: 'The roles were set.',
    },
    'scope <orgId> <personId>': {
      operation: 'setScope',
      summary: 'Set which rows a person may see, from the next request on',
      details: 'Options that are not given are removed.',
      examples: [
        'sealgate people scope org_01 per_01 --department it --department finance',
        'sealgate people scope org_01 per_01 --unrestricted --sensitive',
        'sealgate people scope org_01 per_01',
      ],
      options: scopeOptions(''),
      body: { departments: [], unrestricted: false, canReadSensitive: false },
      done: 'The scope was set.',
    },
    'remove <orgId> <personId>': {
      operation: 'removePerson',
      summary: 'Remove a person from an organisation; their keys are revoked immediately',
      examples: ['sealgate people remove org_01 per_01', 'sealgate people remove org_01 per_01 --yes'],
      confirm: 'Remove <personId> from <orgId>? Their keys are revoked permanently.',
      done: '<personId> is removed: their keys are rejected from the next request on.',
    },
    'mint <orgId> <personId>': {
      operation: 'mintPersonKey',
      summary: 'Create a key for a person; the raw key is shown only once',
      details: 'A key always has the rights of its person. The same key works for MCP.',
      examples: [
        "sealgate people mint org_01 per_01 --label 'reporting'",
        "sealgate people mint org_01 per_01 --label 'reporting' --replaces key_01 --overlap-seconds 86400",
      ],
      options: { ...LABEL, ...successorOf('person') },
      text: (row) => mintedText(row, rowFields),
    },
    'keys <orgId> <personId>': {
      operation: 'listPersonKeys',
      summary: 'List the keys of a person, newest first, without the raw keys',
      columns:
        'KEY id, LABEL label, BEGINS WITH keyPrefix, CREATED createdAt, LAST USED lastUsedAt, REVOKED revokedAt, ENDS endsAt',
      none: 'There are no keys.',
    },
    ...IDENTITIES,
  },
};

const frameworks: GroupRows = {
  name: 'frameworks',
  summary: 'Frameworks of an organisation: requirements for controls.',
  surfaces,
  commands: {
    'list <orgId>': {
      operation: 'listFrameworks',
      columns: 'FRAMEWORK id, NAME name, VERSION version, CREATED createdAt',
      none: 'The organisation has no frameworks.',
    },
    'get <orgId> <frameworkId>': { operation: 'getFramework', text: frameworkText },
    'create <orgId>': createFramework,
  },
};

export const riskPartnerGroups: readonly GroupRows[] = [orgs, people, frameworks];
