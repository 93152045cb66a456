import { migrationSet, type MigrationSet } from '@sealgate/storage';

/** The table `audit_events` in the schema of a surface. */
export function auditMigrations(schema: string): MigrationSet {
  return migrationSet({ name: 'audit', schema, from: import.meta.url });
}
