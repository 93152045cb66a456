import { Client } from 'pg';
import type { Statement } from './database.ts';
import { checkFiles, type MigrationSet } from './migration-set.ts';
import { closeToPublic, grantRuntime } from './runtime-grants.ts';

/** Held by whoever migrates this database; any number will do that nothing else here uses. */
const MIGRATION_LOCK = 5_341_778_203;
/** How long to wait for another migration of the same database. */
const LOCK_WAIT_MS = 120_000;
/** How long a migration may wait for a table: while it waits, everybody behind it waits too. */
const TABLE_WAIT_MS = 10_000;
const CONNECT_TIMEOUT_MS = 10_000;

export interface MigrateOptions {
  /**
   * The migration role's address. It must reach PostgreSQL itself, or PgBouncer in session mode: the lock and the
   * search path belong to the session.
   */
  readonly url: string;
  /** Run in this order. */
  readonly sets: readonly MigrationSet[];
  /** By schema, the role or roles that services use at run time. They must exist. */
  readonly runtimeRoles?: Readonly<Record<string, string | readonly string[]>>;
  /** Run last, in order, each a transaction of its own: what one of the sets made and only the caller can fill. */
  readonly statements?: readonly Statement[];
  readonly log?: (line: string) => void;
}

/**
 * Brings every set up to date, then gives the run-time roles their rights. The pending files of a set are one
 * transaction: a file that fails leaves the set as it was. Processes that migrate the same database take turns, and
 * running it again changes nothing.
 *
 * @returns what was run now, as `<schema>/<set>/<file without .sql>`.
 * @throws Error when a file that was run before is missing or another one slipped in before it, when a file is not
 *   called like `0001_name.sql`, or a role does not exist.
 */
export async function migrate(options: MigrateOptions): Promise<string[]> {
  for (const set of options.sets) checkFiles(set);
  const client = new Client({
    connectionString: options.url,
    application_name: 'sealgate-migrate',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  client.on('error', () => undefined); // The query that runs fails with it.
  await client.connect();
  try {
    await lock(client);
    const applied: string[] = [];
    for (const set of options.sets) applied.push(...(await runSet(client, set, options.log)));
    await grantAll(client, options);
    for (const { text, values = [] } of options.statements ?? []) await client.query(text, [...values]);
    return applied;
  } finally {
    await client.end(); // This gives the lock back as well.
  }
}

async function lock(client: Client): Promise<void> {
  await client.query(`SET lock_timeout = ${LOCK_WAIT_MS}`);
  await client.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
  await client.query(`SET lock_timeout = ${TABLE_WAIT_MS}`);
}

async function runSet(client: Client, set: MigrationSet, log: MigrateOptions['log']): Promise<string[]> {
  // Loaded here because services import this lib too and never migrate.
  const { runner } = await import('node-pg-migrate');
  const complaints: string[] = [];
  const silent = (): void => undefined;
  const complain = (message: string): void => void complaints.push(message);
  try {
    const run = await runner({
      dbClient: client,
      dir: set.directory,
      direction: 'up',
      schema: set.schema,
      createSchema: true,
      migrationsTable: `migrations_${set.name}`,
      checkOrder: true,
      singleTransaction: true,
      noLock: true,
      logger: { debug: silent, info: silent, warn: complain, error: complain },
    });
    const names = run.map(({ name }) => `${set.schema}/${set.name}/${name}`);
    for (const name of names) log?.(`Migrated ${name}.`);
    return names;
  } catch (error) {
    const detail = [...complaints, error instanceof Error ? error.message : String(error)].join('\n');
    throw new Error(`The migrations of ${set.schema}/${set.name} failed. ${detail}`, { cause: error });
  }
}

async function grantAll(client: Client, { sets, runtimeRoles = {}, log }: MigrateOptions): Promise<void> {
  for (const schema of new Set(sets.map((set) => set.schema))) {
    await closeToPublic(client, schema);
    for (const role of [runtimeRoles[schema] ?? []].flat()) {
      await grantRuntime(client, { schema, role });
      log?.(`Granted ${schema} to ${role}.`);
    }
  }
}
