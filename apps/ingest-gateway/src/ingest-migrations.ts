import { apiKeyMigrations } from '@sealgate/api-keys';
import { auditMigrations } from '@sealgate/audit';
import { ledgerMigrations } from '@sealgate/ledger-embedded';
import { fabricMigrations } from '@sealgate/ledger-fabric/migrations';
import { migrationSet, type MigrationSet } from '@sealgate/storage';
import { SCHEMA } from './schema.ts';

/**
 * Everything that must be in the database before the gateway starts, in order: `ingest.append_v1` calls the ledger's. The
 * same whichever ledger it writes to.
 */
export const migrations: readonly MigrationSet[] = [
  ledgerMigrations,
  apiKeyMigrations(SCHEMA),
  auditMigrations(SCHEMA),
  fabricMigrations(SCHEMA),
  migrationSet({ name: 'ingest', schema: SCHEMA, from: import.meta.url }),
];
