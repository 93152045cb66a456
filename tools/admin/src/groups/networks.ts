import { Option } from 'commander';
import { apiPath } from '../admin-api.ts';
import {
  type CommandSpec,
  limitOptions,
  type LimitOptions,
  limitsOf,
  limitsText,
  listOption,
  yesOption,
} from '../command-spec.ts';
import { UsageError } from '../errors.ts';
import { given, type JsonObject } from '../json-object.ts';
import { pageOptions, type PageOptions, printList } from '../print-list.ts';
import { type Column, rowFields } from '../row-table.ts';

const COLUMNS: readonly Column[] = [
  { title: 'NETWORK', member: 'networkId' },
  { title: 'NAME', member: 'name' },
  { title: 'CHANNELS', member: 'channels' },
  { title: 'RECORDS/S', member: 'limits.ratePerSecond' },
  { title: 'BURST', member: 'limits.burst' },
  { title: 'CREATED', member: 'createdAt' },
];

const networkText = (row: JsonObject): string => rowFields(row, { limits: limitsText });

const channelOption = (): Option => listOption('--channel <name>', 'a channel; the first is the default');

const list: CommandSpec<PageOptions> = {
  usage: 'list',
  summary: 'List networks by id',
  examples: ['sealgate networks list', 'sealgate networks list --all --json'],
  options: pageOptions(),
  run: (session, _args, options) =>
    printList(session, { path: apiPath`/networks`, columns: COLUMNS, none: 'There are no networks.' }, options),
};

const get: CommandSpec = {
  usage: 'get <networkId>',
  summary: 'Read a network',
  examples: ['sealgate networks get acme'],
  run: async (session, [networkId = '']) => {
    session.show(await session.api.json({ method: 'GET', path: apiPath`/networks/${networkId}` }), networkText);
  },
};

interface CreateOptions extends LimitOptions {
  readonly name?: string;
  readonly channel?: string[];
}

const create: CommandSpec<CreateOptions> = {
  usage: 'create <networkId>',
  summary: 'Create a network',
  details: 'An id is 2 to 63 characters of a-z, 0-9 and -, and is never reused, not even after the network is deleted.',
  examples: [
    'sealgate networks create acme',
    "sealgate networks create acme --name 'Acme Ltd' --channel main --channel returns --rate 500 --burst 1000",
  ],
  options: [new Option('--name <text>', 'a display name'), channelOption(), ...limitOptions()],
  run: async (session, [networkId = ''], options) => {
    const { name, channel: channels } = options;
    const body = { networkId, ...given({ name, channels, limits: limitsOf(options) }) };
    const answer = await session.api.json({ method: 'POST', path: apiPath`/networks`, body });
    session.show(answer, (row) => `The network was created.\n\n${networkText(row)}`);
  },
};

interface ChangeOptions extends LimitOptions {
  readonly name?: string | false;
  readonly channel?: string[];
  readonly defaultLimits?: true;
}

const change: CommandSpec<ChangeOptions> = {
  usage: 'change <networkId>',
  summary: 'Change name, channels or limits of a network',
  details: 'The given channels replace the existing ones. New limits take effect within 2 s.',
  examples: [
    'sealgate networks change acme --rate 2000 --burst 4000',
    'sealgate networks change acme --channel main --channel returns',
    'sealgate networks change acme --default-limits --no-name',
  ],
  options: [
    new Option('--name <text>', 'a display name'),
    new Option('--no-name', 'remove the name'),
    channelOption(),
    ...limitOptions(),
    new Option('--default-limits', 'reset to the default limits').conflicts(['rate', 'burst']),
  ],
  run: async (session, [networkId = ''], options) => {
    const { channel: channels, defaultLimits } = options;
    const name = options.name === false ? null : options.name;
    const limits = defaultLimits === true ? null : limitsOf(options);
    const body = given({ name, channels, limits });
    if (Object.keys(body).length === 0) throw new UsageError('Nothing to change: use --name, --channel or limits.');
    const answer = await session.api.json({ method: 'PATCH', path: apiPath`/networks/${networkId}`, body });
    session.show(answer, (row) => `The network was changed.\n\n${networkText(row)}`);
  },
};

const remove: CommandSpec = {
  usage: 'delete <networkId>',
  summary: 'Delete a network that has no live keys and no sources',
  details: 'Its records stay in the ledger. Its id is never reused.',
  examples: ['sealgate networks delete acme', 'sealgate networks delete acme --yes'],
  options: [yesOption()],
  run: async (session, [networkId = '']) => {
    const path = apiPath`/networks/${networkId}`;
    await session.confirm(`Delete the network ${networkId}? Its records stay, but its id is never reused.`);
    await session.api.nothing({ method: 'DELETE', path });
    session.say(`The network ${networkId} is deleted. Its records stay in the ledger.`);
  },
};

export const networkCommands: readonly CommandSpec[] = [list, get, create, change, remove];
