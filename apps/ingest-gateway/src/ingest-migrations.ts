import { apiKeyMigrations } from '@sealgate/api-keys';
import { auditMigrations } from '@sealgate/audit';
import { ledgerMigrations } from '@sealgate/ledger-embedded';
import { migrationSet, type MigrationSet } from '@sealgate/storage';

/** The schema of this surface. No other surface reads it. */
export const SCHEMA = 'ingest';

/** Everything that must be in the database before the gateway starts, in order: `ingest.append_v1` calls the ledger's. */
export const migrations: readonly MigrationSet[] = [
  ledgerMigrations,
  apiKeyMigrations(SCHEMA),
  auditMigrations(SCHEMA),
  migrationSet({ name: 'ingest', schema: SCHEMA, from: import.meta.url }),
];
