import { migrationSet } from '@sealgate/storage';

/** The schema `ledger`: tables nobody but its owner can touch, and the versioned functions. */
export const ledgerMigrations = migrationSet({ name: 'ledger', schema: 'ledger', from: import.meta.url });
