export { APPEND_LIMITS, embeddedLedger } from './embedded-ledger.ts';
export type { ChannelState, EmbeddedLedger, EmbeddedLedgerOptions } from './embedded-ledger.ts';
export type { AppendQueueLimits } from './append-queue.ts';
export { Integrator } from './integrator.ts';
export type { IntegratorOptions } from './integrator.ts';
export { LedgerCorruptError } from './ledger-corrupt-error.ts';
export { ledgerMigrations } from './ledger-migrations.ts';
export { savedCheckpoints } from './saved-checkpoints.ts';
export type { SavedCheckpoints } from './saved-checkpoints.ts';
