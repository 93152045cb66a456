import { auditMigrations } from '@sealgate/audit';
import { ledgerMigrations } from '@sealgate/ledger-embedded';
import { fabricMigrations } from '@sealgate/ledger-fabric/migrations';
import { migrationSet, type MigrationSet } from '@sealgate/storage';
import { SCHEMA } from './schema.ts';

/** Everything that must be in the database before the peer starts, in order; the same whichever ledger it writes to. */
export const migrations: readonly MigrationSet[] = [
  ledgerMigrations,
  auditMigrations(SCHEMA),
  fabricMigrations(SCHEMA),
  migrationSet({ name: 'peer', schema: SCHEMA, from: import.meta.url }),
];
