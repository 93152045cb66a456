import {
  EXPIRY,
  LABEL,
  LIMITS,
  limitsText,
  mintedText,
  networkLimitsText,
  neverText,
  PERIOD,
  successorOf,
} from '../common-rows.ts';
import type { JsonObject } from '../json-object.ts';
import type { OptionRows } from '../option-rows.ts';
import type { GroupRows } from '../row-command.ts';
import { cellText, countText, type Format, grantText, rowFields } from '../row-table.ts';
import { sources } from './sources.ts';

const surfaces = ['ingest-gateway'];

const networkText = (row: JsonObject): string => rowFields(row, { limits: limitsText });

const CHANNEL: OptionRows = { '--channel <name>': 'a channel; the first is the default' };

const networks: GroupRows = {
  name: 'networks',
  summary: 'Networks: channels and limits for their keys.',
  surfaces,
  text: networkText,
  commands: {
    list: {
      operation: 'listNetworks',
      examples: ['sealgate networks list', 'sealgate networks list --all --json'],
      columns:
        'NETWORK networkId, NAME name, CHANNELS channels, RECORDS/S limits.ratePerSecond, BURST limits.burst, CREATED createdAt',
      none: 'There are no networks.',
    },
    'get <networkId>': { operation: 'getNetwork' },
    'create <networkId>': {
      operation: 'createNetwork',
      details:
        'An id is 2 to 63 characters of a-z, 0-9 and -, and is never reused, not even after the network is deleted.',
      examples: [
        'sealgate networks create acme',
        "sealgate networks create acme --name 'Acme Ltd' --channel main --channel returns --rate 500 --burst 1000",
      ],
      options: { '--name <text>': 'a display name', ...CHANNEL, ...LIMITS },
      done: 'The network was created.',
    },
    'change <networkId>': {
      operation: 'changeNetwork',
      summary: 'Change name, channels or limits of a network',
      details: 'The given channels replace the existing ones. New limits take effect within 2 s.',
      examples: [
        'sealgate networks change acme --rate 2000 --burst 4000',
        'sealgate networks change acme --channel main --channel returns',
        'sealgate networks change acme --default-limits --no-name',
      ],
      options: {
        '--name <text>': 'a display name',
        '--no-name': { words: 'remove the name', to: null },
        ...CHANNEL,
        ...LIMITS,
        '--default-limits': {
          words: 'reset to the default limits',
          sets: 'limits',
          to: null,
          conflicts: ['rate', 'burst'],
        },
      },
      unchanged: 'Nothing to change: use --name, --channel or limits.',
      done: 'The network was changed.',
    },
    'delete <networkId>': {
      operation: 'deleteNetwork',
      summary: 'Delete a network that has no live keys and no sources',
      details: 'Its records stay in the ledger. Its id is never reused.',
      examples: ['sealgate networks delete acme', 'sealgate networks delete acme --yes'],
      confirm: 'Delete the network <networkId>? Its records stay, but its id is never reused.',
      done: 'The network <networkId> is deleted. Its records stay in the ledger.',
    },
  },
};

const keyText = (row: JsonObject): string =>
  rowFields(row, {
    permissions: grantText,
    allowedAssetTypes: grantText,
    limits: networkLimitsText,
    expiresAt: neverText,
    lastUsedAt: neverText,
  });

const keys: GroupRows = {
  name: 'keys',
  summary: 'Ingest keys of a network.',
  surfaces,
  text: keyText,
  commands: {
    'mint <networkId>': {
      operation: 'mintKey',
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
      options: {
        ...LABEL,
        '--permission <name>': '<choices>',
        '--no-permissions': { words: 'without any permission', to: [] },
        '--asset-type <type>': { words: 'a type it may write; repeatable', sets: 'allowedAssetTypes' },
        '--no-asset-types': { words: 'it may write no type', sets: 'allowedAssetTypes', to: [] },
        '--record <form>': { words: 'how to parse a body (default: envelope)', choices: true },
        '--default-type <type>': 'the type of records without a type',
        ...EXPIRY,
        ...successorOf('network'),
        ...LIMITS,
      },
      text: (row) => mintedText(row, keyText),
    },
    'list <networkId>': {
      operation: 'listKeys',
      summary: 'List live keys and those that expired in the last 30 days, newest first',
      examples: ['sealgate keys list acme', 'sealgate keys list acme --all'],
      columns:
        'KEY id, LABEL label, BEGINS WITH keyPrefix, PERMISSIONS permissions, TYPES allowedAssetTypes, CREATED createdAt, ' +
        'LAST USED lastUsedAt, EXPIRES expiresAt, REVOKED revokedAt, ENDS endsAt',
      cells: { permissions: grantText, allowedAssetTypes: grantText },
      none: 'The network has no keys.',
    },
    'get <networkId> <keyId>': { operation: 'getKey', summary: 'Read a key, without the raw key' },
    'revoke <networkId> <keyId>': {
      operation: 'revokeKey',
      summary: 'Revoke a key immediately and permanently; its predecessor and successor stay valid',
      done: 'The key <keyId> is revoked: it is rejected from the next request on.',
    },
  },
};

const linesText: Format = (value) =>
  Array.isArray(value) && value.length > 0 ? value.map((item) => JSON.stringify(item)).join('\n') : cellText(value);

const events: GroupRows = {
  name: 'events',
  summary: 'Outcomes of requests to the ingest gateway, without their content.',
  surfaces,
  commands: {
    list: {
      operation: 'listEvents',
      examples: [
        'sealgate events list --network acme --limit 10',
        'sealgate events list --status unknown --from 2030-01-01T00:00:00Z --to 2030-01-02T00:00:00Z --all',
        'sealgate events list --type order --follow-pages --json',
      ],
      options: {
        '--network <networkId>': { words: 'only of this network', sets: 'networkId' },
        '--type <type>': 'only those with a record of this type',
        '--status <status>': { words: 'only with this outcome', choices: true },
        ...PERIOD,
      },
      columns:
        'EVENT eventId, AT at, NETWORK networkId, KEY keyId, KIND kind, STATUS status, RECORDS records, TYPES types',
      cells: { records: countText },
      none: 'There are no matching events.',
    },
    'get <eventId>': {
      operation: 'getEvent',
      summary: 'Read an event: its records, transactions and outcome',
      text: (row) => rowFields(row, { records: linesText }),
    },
  },
};

export const ingestGatewayGroups: readonly GroupRows[] = [networks, keys, sources, events];
