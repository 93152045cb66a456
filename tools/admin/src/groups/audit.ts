import { Option } from 'commander';
import { apiPath } from '../admin-api.ts';
import type { CommandSpec } from '../command-spec.ts';
import { pageOptions, printList, printPages, type PageOptions } from '../print-list.ts';
import type { Column } from '../row-table.ts';

interface ListOptions extends PageOptions {
  readonly actor?: string;
  readonly action?: string;
  readonly resource?: string;
  readonly id?: string;
  readonly request?: string;
  readonly from?: string;
  readonly to?: string;
}

/** The case gate uses snake_case. */
const auditCommand = (
  group: string,
  names: { readonly id: string; readonly request: string },
): CommandSpec<ListOptions> => {
  const columns: readonly Column[] = [
    { title: 'AT', member: 'at' },
    { title: 'ACTOR', member: 'actor' },
    { title: 'ACTION', member: 'action' },
    { title: 'RESOURCE', member: 'resource' },
    { title: 'ID', member: names.id },
    { title: 'REQUEST', member: names.request },
    { title: 'PROBLEM', member: 'problem' },
  ];
  return {
    usage: 'list',
    summary: 'List changes and exports, newest first',
    details:
      'PROBLEM is empty where a process of the surface wrote exactly this. no_mac, wrong_mac and unreadable name rows that ' +
      'were inserted or changed in the database; unknown_secret rows whose server secret was removed.',
    examples: [
      `sealgate ${group} list --actor admin:1f2e3d4c --limit 10`,
      `sealgate ${group} list --resource key --id key_01 --from 2030-01-01T00:00:00Z --all --json`,
    ],
    options: [
      new Option('--actor <actor>', 'only by this actor'),
      new Option('--action <action>', 'only this'),
      new Option('--resource <resource>', 'only on this kind of resource'),
      new Option('--id <id>', 'only on the resource with this id'),
      new Option('--request <requestId>', 'only in this request'),
      new Option('--from <time>', 'from this time, RFC 3339'),
      new Option('--to <time>', 'before this, RFC 3339'),
      ...pageOptions(),
    ],
    run: (session, _args, options) => {
      const { actor, action, resource, id, request, from, to } = options;
      const query = { actor, action, resource, [names.id]: id, [names.request]: request, from, to };
      return printList(
        session,
        { path: apiPath`/audit`, query, columns, none: 'There are no matching events.' },
        options,
      );
    },
  };
};

/** `export` and `keys`, for `sealgate-verify audit`. */
const exportCommands = (group: string): readonly CommandSpec<Pick<ListOptions, 'from' | 'to'>>[] => [
  {
    usage: 'export',
    summary: 'Print the events of a period as signed pages, oldest first, one page a line',
    details:
      'Check it offline with `sealgate-verify audit`, which also names events that are forged or missing. Events of the ' +
      'last minute are left out.',
    examples: [`sealgate ${group} export --from 2030-03-01T00:00:00Z --to 2030-04-01T00:00:00Z`],
    options: [
      new Option('--from <time>', 'from this time, RFC 3339; default: the first event'),
      new Option('--to <time>', 'before this, RFC 3339; default: a minute ago'),
    ],
    run: (session, _args, { from, to }) => printPages(session, { path: apiPath`/audit/export`, query: { from, to } }),
  },
  {
    usage: 'keys',
    summary: 'Print the public keys of exported pages as a JWK set',
    examples: [`sealgate ${group} keys > audit.jwks.json`],
    run: async (session) => {
      const { value } = await session.api.json({ method: 'GET', path: apiPath`/audit/keys` });
      session.print(`${JSON.stringify(value)}\n`);
    },
  },
];

export const auditCommands: readonly CommandSpec[] = [
  auditCommand('audit', { id: 'resourceId', request: 'requestId' }),
  ...exportCommands('audit'),
];
export const gateAuditCommands: readonly CommandSpec[] = [
  auditCommand('gate-audit', { id: 'resource_id', request: 'request_id' }),
  ...exportCommands('gate-audit'),
];
