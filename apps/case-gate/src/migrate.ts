import { loadConfig, main } from '@sealgate/service-host';
import { migrate } from '@sealgate/storage';
import { migrationFields } from './config.ts';
import { migrations, SCHEMA } from './gate-migrations.ts';

/** The migration job: run to the end before the services of the same version are started. */
main('case-gate migrate', async () => {
  const { migrationDatabaseUrl, databaseUrl } = loadConfig(migrationFields, process.env);
  const userOf = (url: string) => decodeURIComponent(new URL(url).username);
  const role = databaseUrl === undefined ? '' : userOf(databaseUrl);
  // An owner cannot be held back, so where both are one role there is nothing to grant.
  const isHeldBack = role !== '' && role !== userOf(migrationDatabaseUrl);
  const roles = isHeldBack ? { runtimeRoles: { [SCHEMA]: role, ledger: role } } : {};
  const applied = await migrate({ url: migrationDatabaseUrl, sets: migrations, ...roles });
  process.stdout.write(applied.length === 0 ? 'Everything is up to date.\n' : `${applied.join('\n')}\n`);
});
