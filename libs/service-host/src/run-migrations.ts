import { ledgerFields } from './ledger-fields.ts';
import { type ConfigFields, type Environment, loadConfig, openedOrStartError } from './load-config.ts';
import { migrationFields, operatorFields, serverUrls, storeFields, textOrFile } from './store-fields.ts';

/** Roles to grant privileges in the ledger to, from the environment of the job. */
interface RightsOrder {
  /** Role of DATABASE_URL. Undefined if it is the owner, who cannot be restricted, or not set. */
  readonly role: string | undefined;
  /** Role of ADMIN_DATABASE_URL, likewise. */
  readonly adminRole: string | undefined;
  readonly integrates: boolean;
  /** Whether the service's variables are set too: LEDGER_ORIGIN, which every service requires, is. */
  readonly knowsService: boolean;
}

/** Input of `runMigrations`. `migrate` is passed in, so that the host does not depend on a database library. */
interface MigrationJob<Set extends { readonly schema: string }, Statement> {
  /** Run in this order. */
  readonly sets: readonly Set[];
  /** @returns the migrations applied now. `runtimeRoles` maps schemas to roles; empty if there is nothing to grant. */
  migrate(options: {
    readonly url: string;
    readonly sets: readonly Set[];
    readonly runtimeRoles: Readonly<Record<string, readonly string[]>>;
    readonly statements: readonly Statement[];
    readonly stateDir: string | undefined;
  }): Promise<readonly string[]>;
  /** Errors of `migrate` that an operator can fix: only their message is printed. */
  readonly mendable: abstract new (...parameters: never[]) => Error;
  /** Fields of the service, whose variables may be in the environment of the job too. */
  readonly serviceFields: ConfigFields;
  /** Returns the statements that grant privileges in the ledger. @throws ConfigError */
  rights(order: RightsOrder): readonly Statement[];
  readonly env: Environment;
  /** Receives one line per applied migration. */
  readonly output: { write(text: string): unknown };
}

/** The schema shared by roles of all surfaces. */
const LEDGER_SCHEMA = 'ledger';

/**
 * The migration job of a service: applies all sets with the role of `MIGRATION_DATABASE_URL`, and grants the role of
 * `DATABASE_URL`, if set, its privileges in each schema.
 * @throws ConfigError listing every fault; StartError for errors that are `mendable`; other errors of `migrate`.
 */
export async function runMigrations<Set extends { readonly schema: string }, Statement>(
  job: MigrationJob<Set, Statement>,
): Promise<void> {
  const { sets, migrate, mendable, serviceFields, env, output } = job;
  const { ledgerIntegrator } = ledgerFields;
  const jobFields = {
    ...migrationFields,
    ledgerIntegrator,
    stateDir: storeFields.stateDir,
    ...('adminDatabaseUrl' in serviceFields ? operatorFields : {}),
  };
  const config = loadConfig(jobFields, env, { others: serviceFields });
  const url = config.migrationDatabaseUrl;
  // An owner cannot be restricted, so there is nothing to grant to it.
  const restrictedRole = (databaseUrl: string | undefined): string | undefined => {
    const role = databaseUrl === undefined ? '' : roleOf(databaseUrl);
    return role === '' || role === roleOf(url) ? undefined : role;
  };
  const [role, adminRole] = [restrictedRole(config.databaseUrl), restrictedRole(config.adminDatabaseUrl)];
  const knowsService = (env['LEDGER_ORIGIN'] ?? '') !== '';
  const statements = job.rights({ role, adminRole, integrates: config.ledgerIntegrator, knowsService });
  const rolesOf = (schema: string) =>
    [role, schema === LEDGER_SCHEMA ? adminRole : undefined].filter((name) => name !== undefined);
  const granted = sets.map(({ schema }) => [schema, rolesOf(schema)] as const).filter(([, roles]) => roles.length > 0);
  const options = { url, sets, runtimeRoles: Object.fromEntries(granted), statements, stateDir: config.stateDir };
  const applied = await openedOrStartError(mendable, () => migrate(options));
  output.write(applied.length === 0 ? 'Everything is up to date.\n' : `${applied.join('\n')}\n`);
  if (role !== undefined && !knowsService) {
    output.write(
      `The job does not know the channels of the service (LEDGER_ORIGIN is not set): in the ledger, ${role} may use ` +
        'every channel not owned by another surface. Set the LEDGER_ variables of the service for the job.\n',
    );
  }
}

function roleOf(databaseUrl: string): string {
  return decodeURIComponent(serverUrls(textOrFile(databaseUrl))[0]?.username ?? '');
}
