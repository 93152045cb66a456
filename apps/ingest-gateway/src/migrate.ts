import { loadConfig, main } from '@sealgate/service-host';
import { migrate } from '@sealgate/storage';
import { migrationFields } from './config.ts';
import { migrations } from './ingest-migrations.ts';
import { SCHEMA } from './schema.ts';

/** The migration job: run to the end before the services of the same version are started. */
main('ingest-gateway migrate', async () => {
  const { migrationDatabaseUrl, databaseUrl } = loadConfig(migrationFields, process.env);
  const role = databaseUrl === undefined ? '' : decodeURIComponent(new URL(databaseUrl).username);
  const owner = decodeURIComponent(new URL(migrationDatabaseUrl).username);
  // An owner cannot be held back, so where both are one role there is nothing to grant.
  const runtimeRoles = role === '' || role === owner ? {} : { runtimeRoles: { [SCHEMA]: role, ledger: role } };
  const applied = await migrate({ url: migrationDatabaseUrl, sets: migrations, ...runtimeRoles });
  process.stdout.write(applied.length === 0 ? 'Everything is up to date.\n' : `${applied.join('\n')}\n`);
});
