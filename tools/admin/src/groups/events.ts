import { Option } from 'commander';
import { apiPath } from '../admin-api.ts';
import type { CommandSpec } from '../command-spec.ts';
import { pageOptions, type PageOptions, printList } from '../print-list.ts';
import { type Column, countText, type Format, rowFields } from '../row-table.ts';

const COLUMNS: readonly Column[] = [
  { title: 'EVENT', member: 'eventId' },
  { title: 'AT', member: 'at' },
  { title: 'NETWORK', member: 'networkId' },
  { title: 'KEY', member: 'keyId' },
  { title: 'KIND', member: 'kind' },
  { title: 'STATUS', member: 'status' },
  { title: 'RECORDS', member: 'records', format: countText },
  { title: 'TYPES', member: 'types' },
];

const linesText: Format = (value) => {
  const lines = Array.isArray(value) ? value.map((item) => JSON.stringify(item)) : [JSON.stringify(value)];
  return lines.length === 0 ? '-' : lines.join('\n');
};

interface ListOptions extends PageOptions {
  readonly network?: string;
  readonly type?: string;
  readonly status?: string;
  readonly from?: string;
  readonly to?: string;
}

const list: CommandSpec<ListOptions> = {
  usage: 'list',
  summary: 'List events, newest first',
  examples: [
    'sealgate events list --network acme --limit 10',
    'sealgate events list --status unknown --from 2030-01-01T00:00:00Z --to 2030-01-02T00:00:00Z --all',
    'sealgate events list --type order --follow-pages --json',
  ],
  options: [
    new Option('--network <networkId>', 'only of this network'),
    new Option('--type <type>', 'only those with a record of this type'),
    new Option('--status <status>', 'only with this outcome').choices(['committed', 'rejected', 'unknown']),
    new Option('--from <time>', 'from this time, RFC 3339'),
    new Option('--to <time>', 'before this, RFC 3339'),
    ...pageOptions(),
  ],
  run: (session, _args, options) => {
    const { network: networkId, type, status, from, to } = options;
    const query = { networkId, type, status, from, to };
    return printList(
      session,
      { path: apiPath`/events`, query, columns: COLUMNS, none: 'There are no matching events.' },
      options,
    );
  },
};

const get: CommandSpec = {
  usage: 'get <eventId>',
  summary: 'Read an event: its records, transactions and outcome',
  examples: ['sealgate events get evt_01'],
  run: async (session, [eventId = '']) => {
    const answer = await session.api.json({ method: 'GET', path: apiPath`/events/${eventId}` });
    session.show(answer, (row) => rowFields(row, { records: linesText }));
  },
};

export const eventCommands: readonly CommandSpec[] = [list, get];
