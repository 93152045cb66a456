import { Option } from 'commander';
import { acceptTimeline, describeServers, type ServerReport } from '@sealgate/storage';
import { type CodeCommand, yesOption } from '../command-spec.ts';
import { EXIT_CODES, UnreachableError, UsageError } from '../errors.ts';
import type { JsonObject } from '../json-object.ts';
import type { GroupRows } from '../row-command.ts';
import { type Column, rowFields, RowTable } from '../row-table.ts';
import type { Session } from '../session.ts';

interface UrlOptions {
  readonly databaseUrl?: string;
}

interface AcceptOptions extends UrlOptions {
  readonly server?: string;
  readonly reason: string;
}

const urlOption = (): Option =>
  new Option(
    '--database-url <url>',
    'the servers, as in DATABASE_URL, or file:///path of it; others can see it here, so prefer MIGRATION_DATABASE_URL',
  );

const COLUMNS: readonly Column[] = [
  { title: 'SERVER', member: 'server' },
  { title: 'STATE', member: 'state' },
  { title: 'TIMELINE', member: 'timeline' },
  { title: 'CLUSTER', member: 'cluster' },
  { title: 'ACCEPTED', member: 'acceptedAt' },
  { title: 'PROBLEM', member: 'problem' },
];

async function serversOf(
  { env }: Session,
  { databaseUrl }: UrlOptions,
): Promise<{ url: string; servers: ServerReport[] }> {
  const url = databaseUrl ?? env['MIGRATION_DATABASE_URL'] ?? '';
  if (!/^(postgres(ql)?:|file:\/\/\/)/i.test(url))
    throw new UsageError(
      'Set MIGRATION_DATABASE_URL, or give --database-url, as postgresql://user:password@host:port/name.',
    );
  try {
    return { url, servers: await describeServers(url) };
  } catch {
    // The cause would quote the URL.
    throw new UsageError('The URL of the database, or the file that it names, cannot be read.');
  }
}

const tableOf = (servers: readonly ServerReport[]): string =>
  new RowTable(COLUMNS).lines(servers.map((server) => ({ ...server })));

const servers: CodeCommand<UrlOptions> = {
  summary: 'Ask each PostgreSQL server of the URL what it is: primary or standby, and its timeline',
  details:
    'Each promotion starts a new timeline. Of several primaries the services use the one with the newest timeline, and name the others in their log and readiness.',
  examples: ['sealgate database servers', 'sealgate database servers --database-url file:///run/secrets/migration-url'],
  options: [urlOption()],
  isOffline: () => true,
  run: async (session, _args, options) => {
    const { servers: found } = await serversOf(session, options);
    session.print(session.json ? `${JSON.stringify({ items: found })}\n` : tableOf(found));
    return found.some(({ state }) => state !== 'silent') ? EXIT_CODES.done : EXIT_CODES.unreachable;
  },
};

const accept: CodeCommand<AcceptOptions> = {
  summary: 'Make a primary on an older timeline the one to use, after a restore that goes back on purpose',
  details:
    'It is written in the database of that primary, as the comment of the schema sealgate_timeline; no service has to run. Processes use the server within a second, keep the acceptance in Redis and STATE_DIR, and leave an event in their audit trail. All servers without it are refused from then on, whatever timeline they are on: what they hold and this one lacks is given up. Needs a role that may create a schema in the database, such as that of MIGRATION_DATABASE_URL.',
  examples: [
    "sealgate database accept-timeline --reason 'Back to pg-1, pg-2 is damaged' --server pg-1:5432",
    "sealgate database accept-timeline --reason 'Restored the backup of Monday' --yes",
  ],
  options: [
    new Option('--reason <text>', 'the reason, without personal data').makeOptionMandatory(),
    new Option('--server <host:port>', 'the primary to use, if several answer'),
    urlOption(),
    yesOption(),
  ],
  isOffline: () => true,
  run: async (session, _args, options) => {
    if (!/^[^\p{Cc}]{1,400}$/u.test(options.reason))
      throw new UsageError('The reason must be one line of at most 400 characters.');
    const { url, servers: found } = await serversOf(session, options);
    if (!session.json) session.note(tableOf(found));
    const { server, timeline } = chosenOf(found, options.server);
    if (timeline === null) {
      session.note(`sealgate: ${server} does not tell its timeline, so no service refuses it for one.\n`);
      return EXIT_CODES.refused;
    }
    await session.confirm(
      `Use ${server} on timeline ${timeline}, and no server that was promoted before now? What only others hold is given up.`,
    );
    try {
      await acceptTimeline(url, server, options.reason);
    } catch (error) {
      session.note(`sealgate: ${server} refused it: ${(error as Error).message}. Nothing was accepted.\n`);
      return EXIT_CODES.refused;
    }
    const { servers: after } = await serversOf(session, options);
    const row: JsonObject = { ...after.find((one) => one.server === server) };
    session.show({ text: JSON.stringify(row), value: row }, rowFields);
    return EXIT_CODES.done;
  },
};

function chosenOf(found: readonly ServerReport[], wanted: string | undefined): ServerReport {
  const primaries = found.filter(({ state }) => state === 'primary' || state === 'read-only');
  if (wanted !== undefined) {
    const chosen = found.find(({ server }) => server === wanted);
    if (chosen === undefined) throw new UsageError(`The URL does not list ${wanted}.`);
    if (!primaries.includes(chosen)) throw new UnreachableError(`${wanted} is not a primary that answers.`);
    return chosen;
  }
  if (primaries.length > 1) throw new UsageError('Several primaries answer: name the one to use with --server.');
  const [only] = primaries;
  if (only === undefined) throw new UnreachableError('No primary answers.');
  return only;
}

export const databaseGroup: GroupRows = {
  name: 'database',
  summary: 'The PostgreSQL servers of DATABASE_URL: which is the primary, and which timeline counts. Needs no service.',
  surfaces: [],
  commands: { servers, 'accept-timeline': accept },
};
