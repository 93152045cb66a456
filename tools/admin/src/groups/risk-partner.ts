import { mintedText } from '../row-texts.ts';
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
      columns: 'ORGANISATION id, NAME name, CREATED createdAt',
      none: 'There are no organisations.',
    },
    'get <orgId>': { operation: 'getOrg' },
    create: {
      operation: 'createOrg',
      details: 'See "sealgate people add --help".',
      examples: ["sealgate orgs create --name 'Acme Ltd'"],
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
      '--issuer <url>': { required: true },
      '--subject <text>': { required: true },
    },
    only: true,
    done: 'Linked.',
  },
  'identities unlink <orgId> <personId> <identityId>': {
    operation: 'removeIdentity',
    done: '<identityId> is removed: its tokens are rejected from the next request on.',
  },
  'identities invite <orgId> <personId>': {
    operation: 'addIdentity',
    summary: 'Link the first identity that signs in with this verified e-mail address within 14 days',
    details: 'No e-mail is sent: tell the person to sign in.',
    examples: ['sealgate people identities invite org_01 per_01 --email ada@example.com'],
    options: { '--email <address>': { required: true } },
    only: true,
    done: 'Invited.',
  },
  'identities unlinked': {
    operation: 'listUnlinkedIdentities',
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
      columns:
        'PERSON id, NAME name, KIND kind, ROLES roles, UNRESTRICTED scope.unrestricted, DEPARTMENTS scope.departments, ' +
        'SENSITIVE scope.canReadSensitive',
      none: 'The organisation has no people.',
    },
    'get <orgId> <personId>': { operation: 'getPerson' },
    'add <orgId>': {
      operation: 'addPerson',
      details: 'See "sealgate people mint --help".',
      examples: [
        "sealgate people add org_01 --name 'Head of risk' --role owner",
        "sealgate people add org_01 --name 'Warehouse' --role contributor --department warehouse",
        "sealgate people add org_01 --name 'Partner GmbH' --machine --role partner_read",
      ],
      options: {
        '--machine': { words: 'a machine, not a human', sets: 'kind', to: 'machine' },
        ...scopeOptions('scope.'),
      },
      body: { kind: 'human' },
      done: 'Added.',
    },
    'roles <orgId> <personId>': {
      operation: 'setRoles',
      examples: [
        'sealgate people roles org_01 per_01 --role auditor',
        'sealgate people roles org_01 per_01 --no-roles',
      ],
      options: { '--no-roles': { words: 'remove all roles', to: [] } },
      done: 'The roles were set.',
    },
    'scope <orgId> <personId>': {
      operation: 'setScope',
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
      confirm: 'Remove <personId> from <orgId>? Their keys are revoked permanently.',
      done: '<personId> is removed: their keys are rejected from the next request on.',
    },
    'mint <orgId> <personId>': {
      operation: 'mintPersonKey',
      examples: [
        "sealgate people mint org_01 per_01 --label 'reporting'",
        "sealgate people mint org_01 per_01 --label 'reporting' --replaces key_01 --overlap-seconds 86400",
      ],
      text: (row) => mintedText(row, rowFields),
    },
    'keys <orgId> <personId>': {
      operation: 'listPersonKeys',
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
