import { migrationSet, type MigrationSet } from '@sealgate/storage';

/** The table `api_keys` in the schema of a surface. */
export function apiKeyMigrations(schema: string): MigrationSet {
  return migrationSet({ name: 'api-keys', schema, from: import.meta.url });
}
