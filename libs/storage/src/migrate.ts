import { Client, escapeIdentifier, escapeLiteral } from 'pg';
import { isDeadlock } from './database-errors.ts';
import { DatabaseServers, roleOf } from './database-servers.ts';
import { checkFiles, MADE_BY_RELEASE_CANDIDATE, MigrationError, type MigrationSet } from './migration-set.ts';
import { closeToPublic, grantRuntime } from './runtime-grants.ts';
import { timelineMemory } from './timeline-memory.ts';
import type { Statement } from './sql.ts';

/** Advisory lock held while migrating; an arbitrary number that nothing else here uses. */
const MIGRATION_LOCK = 5_341_778_203;
/** How long to wait for another migration of the same database. */
const LOCK_WAIT_MS = 120_000;
/** Maximum wait for a table lock: while a migration waits for it, every later statement on the table queues behind. */
const TABLE_WAIT_MS = 10_000;
const CONNECT_TIMEOUT_MS = 10_000;
const MAX_DEADLOCKS = 5;

export interface MigrateOptions {
  /**
   * The migration role's address. It must reach PostgreSQL itself, or PgBouncer in session mode: the lock and the
   * search path belong to the session.
   */
  readonly url: string;
  /** Applied in this order. */
  readonly sets: readonly MigrationSet[];
  /** Run-time role or roles of services, by schema. They must exist. */
  readonly runtimeRoles?: Readonly<Record<string, string | readonly string[]>>;
  /** Run last, in order, each in its own transaction: to fill what a set created with what only the caller knows. */
  readonly statements?: readonly Statement[];
  /** Where the newest timeline of the database was remembered: see `timelineMemory`. */
  readonly stateDir?: string | undefined;
  readonly log?: (line: string) => void;
}

/**
 * Applies all pending migrations, then grants the run-time roles their rights. The pending files of a set are one
 * transaction: a file that fails leaves the set as it was. Concurrent runs take turns, and running it again changes
 * nothing.
 *
 * A schema shared by several jobs, and everything in it, has one owner; each job acts as that role (SET ROLE).
 *
 * @returns the files applied now, as `<schema>/<set>/<file without .sql>`.
 * @throws MigrationError when the database cannot be used, a file fails, a file was inserted before an applied one, a
 *   role does not exist, a schema belongs to a role that this one may not act for, or a release candidate made the
 *   database; Error when a file is not named like `0001_name.sql`.
 */
export async function migrate(options: MigrateOptions): Promise<string[]> {
  for (const set of options.sets) checkFiles(set);
  const client = await connectedClient(options);
  try {
    await lock(client);
    for (const set of options.sets) await refuseReleaseCandidate(client, set);
    const applied: string[] = [];
    for (const set of options.sets) {
      const isNew = (await actAsOwner(client, set.schema)) === undefined;
      const names = await throughDeadlocks(
        () => runSet(client, set, isNew, options.log),
        () => options.log?.(`The migrations of ${set.schema}/${set.name} met a deadlock, and are begun again.`),
      );
      applied.push(...names);
    }
    await grantAll(client, options);
    // They fill tables of the first set.
    if (options.sets[0] !== undefined) await actAsOwner(client, options.sets[0].schema);
    for (const { text, values = [] } of options.statements ?? []) await client.query(text, [...values]);
    return applied;
  } finally {
    await client.end(); // Releases the lock as well.
  }
}

/** Connects to the server of the URL; if it names several, to the one that takes writes. @throws MigrationError */
async function connectedClient({ url, stateDir: folder }: MigrateOptions): Promise<Client> {
  const servers = new DatabaseServers(url, folder === undefined ? undefined : timelineMemory({ folder }));
  await servers.surveyed();
  let failure: unknown;
  for (let left = servers.count; left > 0; left -= 1) {
    const connectionString = servers.url;
    const limits = { connectionTimeoutMillis: CONNECT_TIMEOUT_MS, application_name: 'sealgate-migrate' };
    const client = new Client({ connectionString, ...limits });
    client.on('error', () => undefined); // The running query fails with it.
    try {
      await client.connect();
      if (!servers.mustWrite) return client;
      const role = await roleOf({ ask: ({ text }) => client.query(text), broken: undefined });
      const { fault } = await servers.judge(`${client.host}:${client.port}`, role);
      if (fault === undefined) return client;
      failure = fault;
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

/** Before any set is applied, so that nothing is changed. */
async function refuseReleaseCandidate(client: Client, { schema, name, releaseCandidate }: MigrationSet): Promise<void> {
  if (releaseCandidate === undefined) return;
  const table = `${escapeIdentifier(schema)}.${escapeIdentifier(`migrations_${name}`)}`;
  // Not to_regclass, which fails without rights on the schema.
  const known = await client.query(
    `SELECT FROM pg_class WHERE relname = $2 AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1)`,
    [schema, `migrations_${name}`],
  );
  if (known.rowCount === 0) return;
  await actAsOwner(client, schema);
  const found = await client.query(`SELECT FROM ${table} WHERE name = $1`, [releaseCandidate.file]);
  if (found.rowCount !== 0) throw new MigrationError(`${sentence(MADE_BY_RELEASE_CANDIDATE)}.`);
}

const sentence = (text: string): string => text[0]!.toUpperCase() + text.slice(1);

/**
 * Assumes the role that owns the schema, so that objects created by any job have one owner and every job can replace
 * them. A superuser keeps its own role if objects of the schema already have other owners.
 * @returns the owner; undefined if the schema does not exist yet (the session's role will own it).
 */
async function actAsOwner(client: Client, schema: string): Promise<string | undefined> {
  await client.query('RESET ROLE');
  const { rows } = await client.query<{ owner: string; role: string; may: boolean; mixed: boolean }>(
    // PostgreSQL 15 has no SET option of membership.
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

/**
 * Services go on meanwhile and may lock the same tables in another order. PostgreSQL then ends one of the two: the
 * migrations, of which nothing is left, are begun again.
 */
async function throughDeadlocks<Result>(run: () => Promise<Result>, onDeadlock: () => void): Promise<Result> {
  for (let left = MAX_DEADLOCKS; ; left -= 1) {
    try {
      return await run();
    } catch (error) {
      if (left === 0 || !isDeadlock(error)) throw error;
      onDeadlock();
    }
  }
}

async function runSet(
  client: Client,
  set: MigrationSet,
  isNew: boolean,
  log: MigrateOptions['log'],
): Promise<string[]> {
  // Loaded on demand: services import this lib too and never migrate.
  const { runner } = await import('node-pg-migrate');
  const problems: string[] = [];
  const silent = (): void => undefined;
  const collect = (message: string): void => void problems.push(message);
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
      logger: { debug: silent, info: silent, warn: collect, error: collect },
    });
    await recordNewest(client, set);
    const names = run.map(({ name }) => `${set.schema}/${set.name}/${name}`);
    for (const name of names) log?.(`Migrated ${name}.`);
    return names;
  } catch (error) {
    const detail = [...problems, error instanceof Error ? error.message : String(error)].join('\n');
    throw new MigrationError(`The migrations of ${set.schema}/${set.name} failed. ${detail}`, { cause: error });
  }
}

/** As a table comment, which every role can read, also one without rights on the ledger: see database-check.ts. */
async function recordNewest(client: Client, { schema, name }: MigrationSet): Promise<void> {
  const table = `${escapeIdentifier(schema)}.${escapeIdentifier(`migrations_${name}`)}`;
  const { rows } = await client.query<{ newest: string | null; recorded: string | null }>(
    `SELECT max(name) AS newest, obj_description('${table}'::regclass, 'pg_class') AS recorded FROM ${table}`,
  );
  const [{ newest, recorded } = { newest: null, recorded: null }] = rows;
  if (newest !== null && newest !== recorded)
    await client.query(`COMMENT ON TABLE ${table} IS ${escapeLiteral(newest)}`);
}

/** In one transaction for each schema: a running service is never without a right, on what was made anew neither. */
async function grantAll(client: Client, { sets, runtimeRoles = {}, log }: MigrateOptions): Promise<void> {
  for (const schema of new Set(sets.map((set) => set.schema))) {
    await actAsOwner(client, schema);
    const roles = [runtimeRoles[schema] ?? []].flat();
    await client.query('BEGIN');
    await closeToPublic(client, schema);
    for (const role of roles) await grantRuntime(client, { schema, role });
    await client.query('COMMIT');
    for (const role of roles) log?.(`Granted ${schema} to ${role}.`);
  }
}
