import { ledgerGrantsOf } from '@sealgate/ledger-embedded';
import { main, runMigrations } from '@sealgate/service-host';
import { migrate, MigrationError } from '@sealgate/storage';
import { fields, ledgerChannels } from './config.ts';
import { migrations, SCHEMA } from './peer-migrations.ts';

/** The migration job: must complete before services of the same version start. */
main('ledger-peer migrate', () =>
  runMigrations({
    sets: migrations,
    migrate,
    mendable: MigrationError,
    serviceFields: fields,
    rights: ledgerGrantsOf(SCHEMA, () => ledgerChannels(process.env)),
    env: process.env,
    output: process.stdout,
  }),
);
