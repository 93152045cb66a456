import { limitsText, mintedText, networkLimitsText, neverText } from '../row-texts.ts';
import type { JsonObject } from '../json-object.ts';
import type { GroupRows } from '../row-command.ts';
import { cellText, countText, type Format, grantText, rowFields } from '../row-table.ts';
import { sources } from './sources.ts';

const surfaces = ['ingest-gateway'];

const networkText = (row: JsonObject): string => rowFields(row, { limits: limitsText });

const networks: GroupRows = {
  name: 'networks',
  summary: 'Networks: channels and limits for their keys.',
  surfaces,
  text: networkText,
  commands: {
    list: {
      operation: 'listNetworks',
      columns:
        'NETWORK networkId, NAME name, CHANNELS channels, RECORDS/S limits.ratePerSecond, BURST limits.burst, CREATED createdAt',
      none: 'There are no networks.',
    },
    'get <networkId>': { operation: 'getNetwork' },
    'create <networkId>': {
      operation: 'createNetwork',
      examples: [
        'sealgate networks create acme',
        "sealgate networks create acme --name 'Acme Ltd' --channel main --channel returns --rate 500 --burst 1000",
      ],
      done: 'The network was created.',
    },
    'change <networkId>': {
      operation: 'changeNetwork',
      examples: [
        'sealgate networks change acme --rate 2000 --burst 4000',
        'sealgate networks change acme --channel main --channel returns',
        'sealgate networks change acme --default-limits --no-name',
      ],
      unchanged: 'Nothing to change: use --name, --channel or limits.',
      done: 'The network was changed.',
    },
    'delete <networkId>': {
      operation: 'deleteNetwork',
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
      examples: [
        "sealgate keys mint acme --label 'till 7'",
        'sealgate keys mint acme --label orders --permission ingest:write --asset-type order --asset-type refund',
        'sealgate keys mint acme --label webhooks --record whole --default-type webhook --expires-at 2030-01-01T00:00:00Z',
        'sealgate keys mint acme --label orders --replaces key_01 --overlap-seconds 86400',
      ],
      options: {
        '--no-permissions': { words: 'without any permission', to: [] },
        '--no-asset-types': { words: 'it may write no type', sets: 'allowedAssetTypes', to: [] },
        '--record <form>': { choices: true },
      },
      text: (row) => mintedText(row, keyText),
    },
    'list <networkId>': {
      operation: 'listKeys',
      columns:
        'KEY id, LABEL label, BEGINS WITH keyPrefix, PERMISSIONS permissions, TYPES allowedAssetTypes, CREATED createdAt, ' +
        'LAST USED lastUsedAt, EXPIRES expiresAt, REVOKED revokedAt, ENDS endsAt',
      cells: { permissions: grantText, allowedAssetTypes: grantText },
      none: 'The network has no keys.',
    },
    'get <networkId> <keyId>': { operation: 'getKey' },
    'revoke <networkId> <keyId>': {
      operation: 'revokeKey',
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
      options: { '--status <status>': { words: 'only with this outcome', choices: true } },
      columns:
        'EVENT eventId, AT at, NETWORK networkId, KEY keyId, KIND kind, STATUS status, RECORDS records, TYPES types',
      cells: { records: countText },
      none: 'There are no matching events.',
    },
    'get <eventId>': {
      operation: 'getEvent',
      text: (row) => rowFields(row, { records: linesText }),
    },
  },
};

export const ingestGatewayGroups: readonly GroupRows[] = [networks, keys, sources, events];
