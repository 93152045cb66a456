import { Option } from 'commander';
import { apiPath } from '../admin-api.ts';
import {
  type CommandSpec,
  integerOption,
  limitOptions,
  type LimitOptions,
  limitsOf,
  limitsText,
  listOption,
} from '../command-spec.ts';
import { UsageError } from '../errors.ts';
import { given, type JsonObject, textOf } from '../json-object.ts';
import { pageOptions, type PageOptions, printList } from '../print-list.ts';
import { cellText, type Column, type Format, grantText, printable, rowFields } from '../row-table.ts';

const COLUMNS: readonly Column[] = [
  { title: 'KEY', member: 'id' },
  { title: 'LABEL', member: 'label' },
  { title: 'BEGINS WITH', member: 'keyPrefix' },
  { title: 'PERMISSIONS', member: 'permissions', format: grantText },
  { title: 'TYPES', member: 'allowedAssetTypes', format: grantText },
  { title: 'CREATED', member: 'createdAt' },
  { title: 'LAST USED', member: 'lastUsedAt' },
  { title: 'EXPIRES', member: 'expiresAt' },
  { title: 'REVOKED', member: 'revokedAt' },
  { title: 'ENDS', member: 'endsAt' },
];

const FORMATS: Readonly<Record<string, Format>> = {
  permissions: grantText,
  allowedAssetTypes: grantText,
  limits: (value) => (value === null ? "the network's" : limitsText(value)),
  expiresAt: (value) => (value === null ? 'never' : cellText(value)),
  lastUsedAt: (value) => (value === null ? 'never' : cellText(value)),
};

interface MintOptions extends LimitOptions {
  readonly label: string;
  readonly permission?: string[];
  /** False: `--no-permissions`. */
  readonly permissions: boolean;
  readonly assetType?: string[];
  /** False: `--no-asset-types`. */
  readonly assetTypes: boolean;
  readonly record?: string;
  readonly defaultType?: string;
  readonly expiresAt?: string;
  readonly replaces?: string;
  readonly overlapSeconds?: number;
}

const mint: CommandSpec<MintOptions> = {
  usage: 'mint <networkId>',
  summary: 'Create a key; the raw key is shown only once',
  details:
    'Without --permission the key has all permissions, without --asset-type it may write every type.\n' +
    'To rotate a key, create its successor with --replaces, and set --overlap-seconds to the time senders need to switch.',
  examples: [
    "sealgate keys mint acme --label 'till 7'",
    'sealgate keys mint acme --label orders --permission ingest:write --asset-type order --asset-type refund',
    'sealgate keys mint acme --label webhooks --record whole --default-type webhook --expires-at 2030-01-01T00:00:00Z',
    'sealgate keys mint acme --label orders --replaces key_01 --overlap-seconds 86400',
  ],
  options: [
    new Option('--label <text>', 'its purpose').makeOptionMandatory(),
    listOption('--permission <name>', 'ingest:ping or ingest:write'),
    new Option('--no-permissions', 'without any permission'),
    listOption('--asset-type <type>', 'a type it may write; repeatable'),
    new Option('--no-asset-types', 'it may write no type'),
    new Option('--record <form>', 'how to parse a body (default: envelope)').choices(['envelope', 'whole']),
    new Option('--default-type <type>', 'the type of records without a type'),
    new Option('--expires-at <time>', 'RFC 3339, as in 2030-01-01T00:00:00Z'),
    new Option('--replaces <keyId>', 'the live key of this network that it replaces'),
    integerOption('--overlap-seconds <n>', 'how long the replaced key stays valid (default: 0)'),
    ...limitOptions(),
  ],
  run: async (session, [networkId = ''], options) => {
    const { label, record, defaultType, expiresAt, replaces, overlapSeconds } = options;
    const permissions = grants('permission', options.permission, options.permissions);
    const allowedAssetTypes = grants('asset-type', options.assetType, options.assetTypes);
    const rights = { permissions, allowedAssetTypes, limits: limitsOf(options) };
    const body = given({ label, ...rights, record, defaultType, expiresAt, replaces, overlapSeconds });
    const path = apiPath`/networks/${networkId}/keys`;
    session.show(await session.api.json({ method: 'POST', path, body }), mintedText);
  },
};

const list: CommandSpec<PageOptions> = {
  usage: 'list <networkId>',
  summary: 'List live keys and those that expired in the last 30 days, newest first',
  examples: ['sealgate keys list acme', 'sealgate keys list acme --all'],
  options: pageOptions(),
  run: (session, [networkId = ''], options) => {
    const path = apiPath`/networks/${networkId}/keys`;
    return printList(session, { path, columns: COLUMNS, none: 'The network has no keys.' }, options);
  },
};

const get: CommandSpec = {
  usage: 'get <networkId> <keyId>',
  summary: 'Read a key, without the raw key',
  examples: ['sealgate keys get acme key_01'],
  run: async (session, [networkId = '', keyId = '']) => {
    const path = apiPath`/networks/${networkId}/keys/${keyId}`;
    session.show(await session.api.json({ method: 'GET', path }), (row) => rowFields(row, FORMATS));
  },
};

const revoke: CommandSpec = {
  usage: 'revoke <networkId> <keyId>',
  summary: 'Revoke a key immediately and permanently; its predecessor and successor stay valid',
  examples: ['sealgate keys revoke acme key_01'],
  run: async (session, [networkId = '', keyId = '']) => {
    await session.api.nothing({ method: 'DELETE', path: apiPath`/networks/${networkId}/keys/${keyId}` });
    session.say(`The key ${keyId} is revoked: it is rejected from the next request on.`);
  },
};

/** Undefined: everything. An empty list, from `--no-...`: nothing. */
function grants(option: string, named: string[] | undefined, any: boolean): string[] | undefined {
  if (any) return named;
  if (named !== undefined) throw new UsageError(`Give either --${option} or --no-${option}s.`);
  return [];
}

function mintedText({ rawKey, ...row }: JsonObject): string {
  return `The key was created:

  ${printable(textOf(rawKey))}

This is the only time that it is shown: put it where you keep secrets now. Nobody can show it again.

${rowFields(row, FORMATS)}`;
}

export const keyCommands: readonly CommandSpec[] = [mint, list, get, revoke];
