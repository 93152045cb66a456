import { Client, escapeIdentifier, escapeLiteral } from 'pg';
import type { Statement } from './database.ts';
import { DatabaseServers, ROLE_TEXT, type ServerRole } from './database-servers.ts';
import { checkFiles, MigrationError, type MigrationSet } from './migration-set.ts';
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
 * A schema that several jobs share has one owner, and so has all in it: whoever may act for that role does.
 *
 * @returns what was run now, as `<schema>/<set>/<file without .sql>`.
 * @throws MigrationError when the database cannot be used, a file fails, another one slipped in before one that was run, a
 *   role does not exist, or a schema belongs to a role that this one may not act for; Error when a file is not called like
 *   `0001_name.sql`.
 */
export async function migrate(options: MigrateOptions): Promise<string[]> {
  for (const set of options.sets) checkFiles(set);
  const client = await connectedClient(options.url);
  try {
    await lock(client);
    const applied: string[] = [];
    for (const set of options.sets) {
      const isNew = (await actAsOwner(client, set.schema)) === undefined;
      applied.push(...(await runSet(client, set, isNew, options.log)));
    }
    await grantAll(client, options);
    // They fill what the first set made.
    if (options.sets[0] !== undefined) await actAsOwner(client, options.sets[0].schema);
    for (const { text, values = [] } of options.statements ?? []) await client.query(text, [...values]);
    return applied;
  } finally {
    await client.end(); // This gives the lock back as well.
  }
}

/** To the server that takes writes, where the URL names several; else to the one it names. @throws MigrationError */
async function connectedClient(url: string): Promise<Client> {
  const servers = new DatabaseServers(url);
  let failure: unknown;
  for (let left = servers.count; left > 0; left -= 1) {
    const connectionString = servers.url;
    const limits = { connectionTimeoutMillis: CONNECT_TIMEOUT_MS, application_name: 'sealgate-migrate' };
    const client = new Client({ connectionString, ...limits });
    client.on('error', () => undefined); // The query that runs fails with it.
    try {
      await client.connect();
      const { rows } = servers.mustWrite ? await client.query<ServerRole>(ROLE_TEXT) : { rows: [] };
      const fault = rows[0] === undefined ? undefined : servers.fault(rows[0]);
      if (fault === undefined) return client;
      failure = new Error(fault);
    } catch (error) {
      failure = error;
    }
    await client.end().catch(() => undefined);
    servers.leave(connectionString);
  }
  const reason = failure instanceof Error ? failure.message : String(failure);
  throw new MigrationError(`The database of MIGRATION_DATABASE_URL cannot be used: ${reason}`, { cause: failure });
}

async function lock(client: Client): Promise<void> {
  await client.query(`SET lock_timeout = ${LOCK_WAIT_MS}`);
  await client.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
  await client.query(`SET lock_timeout = ${TABLE_WAIT_MS}`);
}

/**
 * Takes the role that owns the schema, so that what is made now and later by whichever job belongs to one role and can be
 * replaced by all of them. A superuser stays itself where things of the schema belong to others already.
 * @returns the owner; undefined where there is no such schema yet, which then is the session's own role's.
 */
async function actAsOwner(client: Client, schema: string): Promise<string | undefined> {
  await client.query('RESET ROLE');
  const { rows } = await client.query<{ owner: string; role: string; may: boolean; mixed: boolean }>(
    // PostgreSQL 15 has members alone, and does not know the word SET.
    `SELECT o.rolname AS owner, current_user::text AS role,
            CASE WHEN current_setting('server_version_num')::integer < 160000 THEN pg_has_role(current_user, o.oid, 'MEMBER')
                 ELSE pg_has_role(current_user, o.oid, 'SET') END AS may,
            (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) AND (
              EXISTS (SELECT FROM pg_class WHERE relnamespace = n.oid AND relowner <> o.oid)
              OR EXISTS (SELECT FROM pg_proc WHERE pronamespace = n.oid AND proowner <> o.oid)) AS mixed
       FROM pg_namespace n JOIN pg_roles o ON o.oid = n.nspowner
      WHERE n.nspname = $1`,
    [schema],
  );
  const [found] = rows;
  if (found === undefined || found.owner === found.role || found.mixed) return found?.owner;
  const owner = escapeIdentifier(found.owner);
  if (!found.may) {
    throw new MigrationError(
      `The schema "${schema}" belongs to the role "${found.owner}", for which "${found.role}" may not act: run ` +
        `GRANT ${owner} TO ${escapeIdentifier(found.role)}, or the job under that role.`,
    );
  }
  await client.query(`SET ROLE ${owner}`);
  return found.owner;
}

async function runSet(
  client: Client,
  set: MigrationSet,
  isNew: boolean,
  log: MigrateOptions['log'],
): Promise<string[]> {
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
      createSchema: isNew,
      migrationsTable: `migrations_${set.name}`,
      checkOrder: true,
      singleTransaction: true,
      noLock: true,
      logger: { debug: silent, info: silent, warn: complain, error: complain },
    });
    await sayHowFar(client, set);
    const names = run.map(({ name }) => `${set.schema}/${set.name}/${name}`);
    for (const name of names) log?.(`Migrated ${name}.`);
    return names;
  } catch (error) {
    const detail = [...complaints, error instanceof Error ? error.message : String(error)].join('\n');
    throw new MigrationError(`The migrations of ${set.schema}/${set.name} failed. ${detail}`, { cause: error });
  }
}

/** For services, whose roles may read a comment and no table of the ledger: see database-check.ts. */
async function sayHowFar(client: Client, { schema, name }: MigrationSet): Promise<void> {
  const table = `${escapeIdentifier(schema)}.${escapeIdentifier(`migrations_${name}`)}`;
  const { rows } = await client.query<{ newest: string | null; told: string | null }>(
    `SELECT max(name) AS newest, obj_description('${table}'::regclass, 'pg_class') AS told FROM ${table}`,
  );
  const [{ newest, told } = { newest: null, told: null }] = rows;
  if (newest !== null && newest !== told) await client.query(`COMMENT ON TABLE ${table} IS ${escapeLiteral(newest)}`);
}

async function grantAll(client: Client, { sets, runtimeRoles = {}, log }: MigrateOptions): Promise<void> {
  for (const schema of new Set(sets.map((set) => set.schema))) {
    await actAsOwner(client, schema);
    await closeToPublic(client, schema);
    for (const role of [runtimeRoles[schema] ?? []].flat()) {
      await grantRuntime(client, { schema, role });
      log?.(`Granted ${schema} to ${role}.`);
    }
  }
}
