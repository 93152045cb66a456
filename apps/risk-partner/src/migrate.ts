import { ledgerGrantsOf } from '@sealgate/ledger-embedded';
import { main, runMigrations } from '@sealgate/service-host';
import { migrate, MigrationError } from '@sealgate/storage';
import { fields, ledgerChannels } from './config.ts';
import { migrations, SCHEMA } from './risk-migrations.ts';

/** The migration job. It must finish before services of the same version start. */
main('risk-partner migrate', () =>
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
