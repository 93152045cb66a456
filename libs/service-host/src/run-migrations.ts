import { migrationFields } from './common-fields.ts';
import { loadConfig, type Environment } from './load-config.ts';

/** What `runMigrations` needs; `migrate` is handed in, so that the host knows no database. */
export interface MigrationJob<Set extends { readonly schema: string }> {
  /** Run in this order. */
  readonly sets: readonly Set[];
  /** @returns what was run now. `runtimeRoles` has a role by schema, or nothing where there is nothing to grant. */
  migrate(options: {
    readonly url: string;
    readonly sets: readonly Set[];
    readonly runtimeRoles: Readonly<Record<string, string>>;
  }): Promise<readonly string[]>;
  readonly env: Environment;
  /** Told what was run, a line each. */
  readonly output: { write(text: string): unknown };
}

/**
 * The migration job of a service: brings all sets up to date under the role of `MIGRATION_DATABASE_URL`, and gives the role
 * of `DATABASE_URL`, where it is set, its rights in each of their schemas.
 * @throws ConfigError naming every fault of both variables at once; whatever `migrate` throws.
 */
export async function runMigrations<Set extends { readonly schema: string }>(job: MigrationJob<Set>): Promise<void> {
  const { sets, migrate, env, output } = job;
  const { migrationDatabaseUrl: url, databaseUrl } = loadConfig(migrationFields, env);
  const role = databaseUrl === undefined ? '' : roleOf(databaseUrl);
  // An owner cannot be held back, so where both are one role there is nothing to grant.
  const isHeldBack = role !== '' && role !== roleOf(url);
  const runtimeRoles = isHeldBack ? Object.fromEntries(sets.map(({ schema }) => [schema, role])) : {};
  const applied = await migrate({ url, sets, runtimeRoles });
  output.write(applied.length === 0 ? 'Everything is up to date.\n' : `${applied.join('\n')}\n`);
}

function roleOf(databaseUrl: string): string {
  return decodeURIComponent(new URL(databaseUrl).username);
}
