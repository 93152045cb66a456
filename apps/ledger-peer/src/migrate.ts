import { main, runMigrations } from '@sealgate/service-host';
import { migrate } from '@sealgate/storage';
import { migrations } from './peer-migrations.ts';

/** The migration job: run to the end before the services of the same version are started. */
main('ledger-peer migrate', () =>
  runMigrations({ sets: migrations, migrate, env: process.env, output: process.stdout }),
);
