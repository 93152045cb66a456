import { Option } from 'commander';
import { apiPath } from '../api-path.ts';
import { cellText, grantText, type Format } from '../cell-text.ts';
import { integerOption, listOption, type CommandSpec } from '../command-spec.ts';
import { given } from '../given.ts';
import { textOf, type JsonObject } from '../json-object.ts';
import { limitOptions, limitsOf, limitsText, type LimitOptions } from '../limit-options.ts';
import { pageOptions, printList, type PageOptions } from '../print-list.ts';
import { printable } from '../printable.ts';
import { rowFields } from '../row-fields.ts';
import type { Column } from '../row-table.ts';
import { UsageError } from '../usage-error.ts';

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
  /** False: `--no-permissions` was given. */
  readonly permissions: boolean;
  readonly assetType?: string[];
  /** False: `--no-asset-types` was given. */
  readonly assetTypes: boolean;
  readonly record?: string;
  readonly defaultType?: string;
  readonly expiresAt?: string;
  readonly replaces?: string;
  readonly overlapSeconds?: number;
}

const mint: CommandSpec<MintOptions> = {
  usage: 'mint <networkId>',
  summary: 'Mint a key; its raw form is shown this once',
  details:
    'Without --permission the key may do everything, without --asset-type it may write every type.\n' +
    'To rotate a key, mint its successor with --replaces, and --overlap-seconds for as long as senders need to change.',
  examples: [
    "sealgate keys mint acme --label 'till 7'",
    'sealgate keys mint acme --label orders --permission ingest:write --asset-type order --asset-type refund',
    'sealgate keys mint acme --label webhooks --record whole --default-type webhook --expires-at 2030-01-01T00:00:00Z',
    'sealgate keys mint acme --label orders --replaces key_01 --overlap-seconds 86400',
  ],
  options: [
    new Option('--label <text>', 'what it is for').makeOptionMandatory(),
    listOption('--permission <name>', 'ingest:ping or ingest:write'),
    new Option('--no-permissions', 'it may do nothing'),
    listOption('--asset-type <type>', 'a type that it may write'),
    new Option('--no-asset-types', 'it may write no type'),
    new Option('--record <form>', 'how a body is read (default: envelope)').choices(['envelope', 'whole']),
    new Option('--default-type <type>', 'the type of records that name none'),
    new Option('--expires-at <time>', 'RFC 3339, as in 2030-01-01T00:00:00Z'),
    new Option('--replaces <keyId>', 'the live key of this network that it succeeds'),
    integerOption('--overlap-seconds <n>', 'how long the key that it replaces stays valid (default: 0)'),
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
  summary: 'List live keys and those that ended in the last 30 days, newest first',
  examples: ['sealgate keys list acme', 'sealgate keys list acme --all'],
  options: pageOptions(),
  run: (session, [networkId = ''], options) => {
    const path = apiPath`/networks/${networkId}/keys`;
    return printList(session, { path, columns: COLUMNS, none: 'The network has no keys.' }, options);
  },
};

const get: CommandSpec = {
  usage: 'get <networkId> <keyId>',
  summary: 'Read a key, without its raw form',
  examples: ['sealgate keys get acme key_01'],
  run: async (session, [networkId = '', keyId = '']) => {
    const path = apiPath`/networks/${networkId}/keys/${keyId}`;
    session.show(await session.api.json({ method: 'GET', path }), (row) => rowFields(row, FORMATS));
  },
};

const revoke: CommandSpec = {
  usage: 'revoke <networkId> <keyId>',
  summary: 'Revoke a key at once and for ever; a key that it replaced, or that replaces it, stays',
  examples: ['sealgate keys revoke acme key_01'],
  run: async (session, [networkId = '', keyId = '']) => {
    await session.api.nothing({ method: 'DELETE', path: apiPath`/networks/${networkId}/keys/${keyId}` });
    session.say(`The key ${keyId} is revoked: it is refused from the next request on.`);
  },
};

/** Absent: everything. The empty list, which `--no-...` gives: nothing. */
function grants(option: string, named: string[] | undefined, any: boolean): string[] | undefined {
  if (any) return named;
  if (named !== undefined) throw new UsageError(`Give either --${option} or --no-${option}s.`);
  return [];
}

function mintedText({ rawKey, ...row }: JsonObject): string {
  return `The key was minted:

  ${printable(textOf(rawKey))}

This is the only time that it is shown: put it where you keep secrets now. Nobody can show it again.

${rowFields(row, FORMATS)}`;
}

export const keyCommands: readonly CommandSpec[] = [mint, list, get, revoke];
