import { ledgerFields, migrationFields, operatorFields } from './common-fields.ts';
import type { ConfigFields } from './config-field.ts';
import { loadConfig, type Environment } from './load-config.ts';
import { openedOrStartError } from './start-error.ts';
import { textOrFile, serverUrls } from './store-urls.ts';

/** Whom the rights in the ledger are for, as far as the environment of the job says it. */
export interface RightsOrder {
  /** Undefined where it is the owner's, who cannot be held back, or not told. */
  readonly role: string | undefined;
  /** That of ADMIN_DATABASE_URL, likewise. */
  readonly adminRole: string | undefined;
  readonly integrates: boolean;
  /** Whether the variables of the service are in the environment too: LEDGER_ORIGIN, which every service needs, is. */
  readonly knowsService: boolean;
}

/** What `runMigrations` needs; `migrate` is handed in, so that the host knows no database. */
export interface MigrationJob<Set extends { readonly schema: string }, Statement> {
  /** Run in this order. */
  readonly sets: readonly Set[];
  /** @returns what was run now. `runtimeRoles` has roles by schema, or nothing where there is nothing to grant. */
  migrate(options: {
    readonly url: string;
    readonly sets: readonly Set[];
    readonly runtimeRoles: Readonly<Record<string, readonly string[]>>;
    readonly statements: readonly Statement[];
  }): Promise<readonly string[]>;
  /** The errors of `migrate` that an operator can mend: their messages are told alone, without a stack. */
  readonly mendable: abstract new (...parameters: never[]) => Error;
  /** The variables of the service: those may be in the environment of the job as well. */
  readonly serviceFields: ConfigFields;
  /** The statements that give roles their rights in the ledger. @throws ConfigError */
  rights(order: RightsOrder): readonly Statement[];
  readonly env: Environment;
  /** Told what was run, a line each. */
  readonly output: { write(text: string): unknown };
}

/** The schema that roles of all surfaces use. */
const LEDGER_SCHEMA = 'ledger';

/**
 * The migration job of a service: brings all sets up to date under the role of `MIGRATION_DATABASE_URL`, and gives the role
 * of `DATABASE_URL`, where it is set, its rights in each of their schemas.
 * @throws ConfigError naming every fault at once; StartError in place of what is `mendable`; whatever else `migrate` throws.
 */
export async function runMigrations<Set extends { readonly schema: string }, Statement>(
  job: MigrationJob<Set, Statement>,
): Promise<void> {
  const { sets, migrate, mendable, serviceFields, env, output } = job;
  const { ledgerIntegrator } = ledgerFields;
  const jobFields = {
    ...migrationFields,
    ledgerIntegrator,
    ...('adminDatabaseUrl' in serviceFields ? operatorFields : {}),
  };
  const config = loadConfig(jobFields, env, { others: serviceFields });
  const url = config.migrationDatabaseUrl;
  // An owner cannot be held back, so where a role is the owner's there is nothing to grant.
  const heldBack = (databaseUrl: string | undefined): string | undefined => {
    const role = databaseUrl === undefined ? '' : roleOf(databaseUrl);
    return role === '' || role === roleOf(url) ? undefined : role;
  };
  const [role, adminRole] = [heldBack(config.databaseUrl), heldBack(config.adminDatabaseUrl)];
  const knowsService = (env['LEDGER_ORIGIN'] ?? '') !== '';
  const statements = job.rights({ role, adminRole, integrates: config.ledgerIntegrator, knowsService });
  const rolesOf = (schema: string) =>
    [role, schema === LEDGER_SCHEMA ? adminRole : undefined].filter((name) => name !== undefined);
  const granted = sets.map(({ schema }) => [schema, rolesOf(schema)] as const).filter(([, roles]) => roles.length > 0);
  const order = { url, sets, runtimeRoles: Object.fromEntries(granted), statements };
  const applied = await openedOrStartError(mendable, () => migrate(order));
  output.write(applied.length === 0 ? 'Everything is up to date.\n' : `${applied.join('\n')}\n`);
  if (role !== undefined && !knowsService) {
    output.write(
      `The job does not know the channels of the service (LEDGER_ORIGIN is not set): in the ledger, ${role} may use every ` +
        'channel that no other surface owns. Give the job the LEDGER_ variables of the service.\n',
    );
  }
}

function roleOf(databaseUrl: string): string {
  return decodeURIComponent(serverUrls(textOrFile(databaseUrl))[0]?.username ?? '');
}
