import { Option } from 'commander';
import { apiPath } from '../api-path.ts';
import type { CommandSpec } from '../command-spec.ts';
import { environmentOption, type EnvironmentOptions } from '../environment-option.ts';
import { given } from '../given.ts';
import { pageOptions, printList, type PageOptions } from '../print-list.ts';
import { rowFields } from '../row-fields.ts';
import type { Column } from '../row-table.ts';
import { UsageError } from '../usage-error.ts';

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
  summary: 'Make a venue',
  examples: ["sealgate venues create harbour-hall --name 'Harbour Hall'"],
  options: [
    new Option('--name <text>', 'a name for people').makeOptionMandatory(),
    new Option('--inactive', 'nobody may enter yet'),
    environmentOption(),
  ],
  run: async (session, [venueId = ''], { name, inactive, environment }) => {
    const body = { venue_id: venueId, name, ...given({ environment, active: inactive === true ? false : undefined }) };
    const answer = await session.api.json({ method: 'POST', path: apiPath`/venues`, body });
    session.show(answer, (row) => `The venue was made.\n\n${rowFields(row)}`);
  },
};

const change: CommandSpec<EnvironmentOptions & { name?: string; active?: true; inactive?: true }> = {
  usage: 'change <venueId>',
  summary: 'Rename, open or close a venue; the gate acts on it at once',
  examples: ['sealgate venues change harbour-hall --inactive', "sealgate venues change harbour-hall --name 'Old Hall'"],
  options: [
    new Option('--name <text>', 'a name for people'),
    new Option('--active', 'whoever is eligible may enter').conflicts('inactive'),
    new Option('--inactive', 'nobody may enter'),
    environmentOption(),
  ],
  run: async (session, [venueId = ''], { name, active, inactive, environment }) => {
    const isActive = active === true ? true : inactive === true ? false : undefined;
    const body = given({ name, active: isActive });
    if (Object.keys(body).length === 0) throw new UsageError('Say what to change: --name, --active or --inactive.');
    const path = apiPath`/venues/${venueId}`;
    const answer = await session.api.json({ method: 'PATCH', path, query: { environment }, body });
    session.show(answer, (row) => `The venue was changed.\n\n${rowFields(row)}`);
  },
};

export const venueCommands: readonly CommandSpec[] = [list, get, create, change];
