import { migrationSet, type MigrationSet } from '@sealgate/storage';

/** The journal and the claims, in the schema of the surface that opens the driver. */
export function fabricMigrations(schema: string): MigrationSet {
  return migrationSet({ name: 'fabric', schema, from: import.meta.url });
}
