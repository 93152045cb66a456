import { auditMigrations } from '@sealgate/audit';
import { ledgerMigrations } from '@sealgate/ledger-embedded';
import { fabricMigrations } from '@sealgate/ledger-fabric/migrations';
import { migrationSet, type MigrationSet } from '@sealgate/storage';

/** The PostgreSQL schema of this surface. No other surface reads it. */
export const SCHEMA = 'peer';

/** All migrations that must be applied before the peer starts, in order; the same for every driver. */
export const migrations: readonly MigrationSet[] = [
  ledgerMigrations,
  auditMigrations(SCHEMA),
  fabricMigrations(SCHEMA),
  migrationSet({ name: 'peer', schema: SCHEMA, from: import.meta.url }),
];
