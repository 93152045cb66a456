import { apiKeyMigrations } from '@sealgate/api-keys';
import { auditMigrations } from '@sealgate/audit';
import { ledgerMigrations } from '@sealgate/ledger-embedded';
import { fabricMigrations } from '@sealgate/ledger-fabric/migrations';
import { migrationSet, type MigrationSet } from '@sealgate/storage';

/** The schema of this surface. No other surface reads it. */
export const SCHEMA = 'gate';

/** Migrations that must have run before the service starts. */
export const migrations: readonly MigrationSet[] = [
  ledgerMigrations,
  apiKeyMigrations(SCHEMA),
  auditMigrations(SCHEMA),
  fabricMigrations(SCHEMA),
  migrationSet({ name: 'gate', schema: SCHEMA, from: import.meta.url }),
];
