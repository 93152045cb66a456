import { type Client, escapeIdentifier } from 'pg';
import { MigrationError } from './migration-set.ts';

/**
 * The schema whose tables only their owner may touch: access goes through its SECURITY DEFINER functions. Its other
 * functions are internal and run with the rights of those.
 */
export const FUNCTIONS_ONLY_SCHEMA = 'ledger';

interface RuntimeGrant {
  readonly schema: string;
  readonly role: string;
}

/** Revokes all rights of PUBLIC on the schema and its objects, in the transaction of the caller. */
export async function closeToPublic(client: Client, schema: string): Promise<void> {
  const inSchema = escapeIdentifier(schema);
  await inOneMessage(client, [
    `REVOKE ALL ON SCHEMA ${inSchema} FROM PUBLIC`,
    `REVOKE ALL ON ALL TABLES IN SCHEMA ${inSchema} FROM PUBLIC`,
    `REVOKE ALL ON ALL ROUTINES IN SCHEMA ${inSchema} FROM PUBLIC`,
  ]);
}

/**
 * Grants a run-time role what it needs and revokes the rest: rows and functions of an ordinary schema, only the SECURITY
 * DEFINER functions of the ledger, no DDL. The bookkeeping tables of migrations are read-only. In the transaction of the
 * caller, so a running service is never without its rights.
 *
 * @throws MigrationError when the role does not exist, may not connect, or owns the schema: rights of an owner cannot
 *   be limited.
 */
export async function grantRuntime(client: Client, grant: RuntimeGrant): Promise<void> {
  await checkRole(client, grant);
  const role = escapeIdentifier(grant.role);
  const schema = escapeIdentifier(grant.schema);
  const rights = [
    `REVOKE ALL ON SCHEMA ${schema} FROM ${role}`,
    `REVOKE ALL ON ALL TABLES IN SCHEMA ${schema} FROM ${role}`,
    `REVOKE ALL ON ALL SEQUENCES IN SCHEMA ${schema} FROM ${role}`,
    `REVOKE ALL ON ALL ROUTINES IN SCHEMA ${schema} FROM ${role}`,
    `GRANT USAGE ON SCHEMA ${schema} TO ${role}`,
  ];
  if (grant.schema === FUNCTIONS_ONLY_SCHEMA) {
    const routines = await callableRoutines(client, grant.schema);
    rights.push(...routines.map((routine) => `GRANT EXECUTE ON ROUTINE ${routine} TO ${role}`));
  } else {
    rights.push(
      `GRANT EXECUTE ON ALL ROUTINES IN SCHEMA ${schema} TO ${role}`,
      `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${role}`,
      `GRANT USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA ${schema} TO ${role}`,
      ...(await bookkeepingTables(client, grant.schema)).map(
        (table) => `REVOKE INSERT, UPDATE, DELETE ON ${schema}.${escapeIdentifier(table)} FROM ${role}`,
      ),
    );
  }
  await inOneMessage(client, rights);
}

async function checkRole(client: Client, { schema, role }: RuntimeGrant): Promise<void> {
  const { rows } = await client.query<{ known: boolean; connects: boolean; database: string; owns: boolean }>(
    `SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $2) AS known, current_database() AS database,
            (SELECT has_database_privilege(oid, current_database(), 'CONNECT') FROM pg_roles WHERE rolname = $2) AS connects,
            EXISTS (SELECT FROM pg_namespace WHERE nspname = $1 AND pg_get_userbyid(nspowner) = $2) AS owns`,
    [schema, role],
  );
  const [found] = rows;
  if (found?.known !== true)
    throw new MigrationError(`The run-time role "${role}" of the schema "${schema}" does not exist.`);
  if (!found.connects) {
    const [database, to] = [found.database, role].map((name) => escapeIdentifier(name));
    throw new MigrationError(
      `The run-time role "${role}" may not connect to the database "${found.database}": run GRANT CONNECT ON DATABASE ${database} TO ${to}.`,
    );
  }
  if (found.owns)
    throw new MigrationError(`The run-time role "${role}" owns the schema "${schema}"; use a role of its own.`);
}

/** In the form GRANT takes: with parameters, because names may be overloaded. */
async function callableRoutines(client: Client, schema: string): Promise<string[]> {
  const { rows } = await client.query<{ routine: string }>(
    `SELECT format('%I.%I(%s)', nspname, proname, pg_get_function_identity_arguments(pg_proc.oid)) AS routine
       FROM pg_proc JOIN pg_namespace ON pg_namespace.oid = pronamespace
      WHERE nspname = $1 AND prosecdef
      ORDER BY 1`,
    [schema],
  );
  return rows.map(({ routine }) => routine);
}

async function bookkeepingTables(client: Client, schema: string): Promise<string[]> {
  const { rows } = await client.query<{ tablename: string }>(
    `SELECT tablename FROM pg_tables WHERE schemaname = $1 AND starts_with(tablename, 'migrations_')`,
    [schema],
  );
  return rows.map(({ tablename }) => tablename);
}

async function inOneMessage(client: Client, statements: readonly string[]): Promise<void> {
  await client.query(statements.join(';\n'));
}
