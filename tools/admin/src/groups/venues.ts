import { Option } from 'commander';
import { apiPath } from '../admin-api.ts';
import { type CommandSpec, environmentOption, type EnvironmentOptions } from '../command-spec.ts';
import { UsageError } from '../errors.ts';
import { given } from '../json-object.ts';
import { pageOptions, type PageOptions, printList } from '../print-list.ts';
import { type Column, rowFields } from '../row-table.ts';

const COLUMNS: readonly Column[] = [
  { title: 'VENUE', member: 'venue_id' },
  { title: 'ENVIRONMENT', member: 'environment' },
  { title: 'NAME', member: 'name' },
  { title: 'ACTIVE', member: 'active' },
  { title: 'UPDATED', member: 'updated_at' },
];

const list: CommandSpec<PageOptions & EnvironmentOptions> = {
  usage: 'list',
  summary: 'List the venues of an environment by id',
  examples: ['sealgate venues list', 'sealgate venues list --environment test --json'],
  options: [environmentOption(), ...pageOptions()],
  run: (session, _args, options) => {
    const { environment } = options;
    const none = 'There are no venues.';
    return printList(session, { path: apiPath`/venues`, query: { environment }, columns: COLUMNS, none }, options);
  },
};

const get: CommandSpec<EnvironmentOptions> = {
  usage: 'get <venueId>',
  summary: 'Read a venue',
  examples: ['sealgate venues get harbour-hall'],
  options: [environmentOption()],
  run: async (session, [venueId = ''], { environment }) => {
    const path = apiPath`/venues/${venueId}`;
    session.show(await session.api.json({ method: 'GET', path, query: { environment } }), rowFields);
  },
};

const create: CommandSpec<EnvironmentOptions & { name: string; inactive?: true }> = {
  usage: 'create <venueId>',
  summary: 'Create a venue',
  examples: ["sealgate venues create harbour-hall --name 'Harbour Hall'"],
  options: [
    new Option('--name <text>', 'a display name').makeOptionMandatory(),
    new Option('--inactive', 'deny everyone at first'),
    environmentOption(),
  ],
  run: async (session, [venueId = ''], { name, inactive, environment }) => {
    const body = { venue_id: venueId, name, ...given({ environment, active: inactive === true ? false : undefined }) };
    const answer = await session.api.json({ method: 'POST', path: apiPath`/venues`, body });
    session.show(answer, (row) => `The venue was created.\n\n${rowFields(row)}`);
  },
};

const change: CommandSpec<EnvironmentOptions & { name?: string; active?: true; inactive?: true }> = {
  usage: 'change <venueId>',
  summary: 'Rename, open or close a venue, with immediate effect',
  examples: ['sealgate venues change harbour-hall --inactive', "sealgate venues change harbour-hall --name 'Old Hall'"],
  options: [
    new Option('--name <text>', 'a display name'),
    new Option('--active', 'allow eligible subjects').conflicts('inactive'),
    new Option('--inactive', 'deny everyone'),
    environmentOption(),
  ],
  run: async (session, [venueId = ''], { name, active, inactive, environment }) => {
    const isActive = active === true ? true : inactive === true ? false : undefined;
    const body = given({ name, active: isActive });
    if (Object.keys(body).length === 0) throw new UsageError('Nothing to change: use --name, --active or --inactive.');
    const path = apiPath`/venues/${venueId}`;
    const answer = await session.api.json({ method: 'PATCH', path, query: { environment }, body });
    session.show(answer, (row) => `The venue was changed.\n\n${rowFields(row)}`);
  },
};

export const venueCommands: readonly CommandSpec[] = [list, get, create, change];
