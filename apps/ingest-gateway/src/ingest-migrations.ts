import { apiKeyMigrations } from '@sealgate/api-keys';
import { auditMigrations } from '@sealgate/audit';
import { ledgerMigrations } from '@sealgate/ledger-embedded';
import { fabricMigrations } from '@sealgate/ledger-fabric/migrations';
import { migrationSet, type MigrationSet } from '@sealgate/storage';

/** The PostgreSQL schema of this surface. No other surface reads it. */
export const SCHEMA = 'ingest';

/** In order, because `ingest.append` calls functions of the ledger. The same for both ledger drivers. */
export const migrations: readonly MigrationSet[] = [
  ledgerMigrations,
  apiKeyMigrations(SCHEMA),
  auditMigrations(SCHEMA),
  fabricMigrations(SCHEMA),
  migrationSet({ name: 'ingest', schema: SCHEMA, from: import.meta.url }),
];
