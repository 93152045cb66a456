export type { OnResult } from './append-group.ts';
export { haltedIn } from './database-problem.ts';
export { embeddedLedger } from './embedded-ledger.ts';
export type { ChannelState, EmbeddedLedger, EmbeddedLedgerOptions } from './embedded-ledger.ts';
export type { LossDeclaration, LossState } from './declare-loss.ts';
export type { Epochs, Place } from './epochs.ts';
export type {
  ChannelLog,
  ChannelOverview,
  ChannelsWanted,
  LedgerExploration,
  ListedRecord,
  PublishedKey,
  RecordsWanted,
  UnsignedRecords,
} from './explore-ledger.ts';
export { Integrator } from './integrator.ts';
export type { IntegratorOptions } from './integrator.ts';
export { conflictIn, heldIn } from './known-ids.ts';
export type { PageQuery, RecordPage } from './query-records.ts';
export { LedgerCorruptError } from './ledger-corrupt-error.ts';
export { ledgerGrantsOf } from './ledger-grants.ts';
export type { GrantsOrder, LedgerGrant, LedgerRight, SurfaceChannels } from './ledger-grants.ts';
export { ledgerMigrations } from './ledger-migrations.ts';
export type { ProvedDeclaration } from './prove-record.ts';
export { savedCheckpoints } from './saved-checkpoints.ts';
export type { SavedCheckpoints } from './saved-checkpoints.ts';
export { LedgerNotOpenedError, missingRights, openEmbeddedLedger } from './open-embedded-ledger.ts';
export type { OpenedEmbeddedLedger, OpenLedgerOptions } from './open-embedded-ledger.ts';
export type { AppendFunctions } from './append-statement.ts';
