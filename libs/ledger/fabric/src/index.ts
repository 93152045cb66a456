export { batchesOf } from './batches-of.ts';
export type { BatchLimits } from './batches-of.ts';
export { ChannelMap } from './channel-map.ts';
export type { ChannelPlace } from './channel-map.ts';
export { ConnectionFileError, parseConnection, readConnectionFile } from './connection-file.ts';
export type { FabricChannel, FabricConnection, FabricDeadlines, FabricLimits, FabricPeer } from './connection-file.ts';
export type { Committed, ContractCall, Settlement, SubmitOptions } from './contract-call.ts';
export type { CredentialsState } from './credentials.ts';
export type { OnSettlement } from './ending-writer.ts';
export type { FabricClient, FabricHealth } from './fabric-client.ts';
export {
  ClaimTakenError,
  ContractRefusedError,
  FabricError,
  InvalidatedError,
  MisconfiguredError,
  OverloadedError,
  UnavailableError,
  UnknownOutcomeError,
} from './fabric-errors.ts';
export { FABRIC_REASONS } from './fabric-reasons.ts';
export type { FabricReason } from './fabric-reasons.ts';
export { fabricLedger } from './fabric-ledger.ts';
export type { FabricLedger, FabricLedgerOptions, KnownUnit, OnResult } from './fabric-ledger.ts';
export { fabricObserver } from './fabric-metrics.ts';
export { fabricMigrations } from './fabric-migrations.ts';
export type {
  FabricObserver,
  FabricOutcome,
  FabricPhase,
  FabricProblem,
  FabricState,
  RetryReason,
} from './fabric-observer.ts';
export type { NewClaim } from './journal-entry.ts';
export { signLowS } from './native-signer.ts';
export { GatewayNotOpenedError, openGateway, openRecordsLedger } from './open-gateway.ts';
export type { OpenedGateway, OpenGatewayOptions, OpenRecordsLedgerOptions } from './open-gateway.ts';
export { openFabric } from './open-fabric.ts';
export type { FabricOptions, JournalOptions } from './open-fabric.ts';
export { unsettledTransactions, type UnsettledTransactions } from './unsettled-transactions.ts';
