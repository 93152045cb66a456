export { ChannelMap } from './channel-map.ts';
export { ConnectionFileError, parseConnection, readConnectionFile } from './connection-file.ts';
export type { BlockTransaction, ChannelBlock } from './block-content.ts';
export type { FabricConnection } from './connection-file.ts';
export type { FabricCaller } from './connection-identities.ts';
export type {
  BlockReader,
  Committed,
  ContractCall,
  EvaluateOptions,
  FabricClient,
  SentTransaction,
  Settlement,
  SubmitOptions,
} from './fabric-client.ts';
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
export { fabricLedger } from './fabric-ledger.ts';
export type { FabricLedger } from './fabric-ledger.ts';
export { fabricMigrations } from './fabric-migrations.ts';
export { IdentityFiles, type CredentialsState } from './identity-files.ts';
export { GatewayNotOpenedError, openGateway, openRecordsLedger } from './open-gateway.ts';
export type { OpenRecordsLedgerOptions } from './open-gateway.ts';
export { openFabric } from './open-fabric.ts';
export type { OnResult } from './append-units.ts';
export { proveFabricRecord } from './record-proof.ts';
export { UnsupportedPolicyError } from './channel-policies.ts';
export { readChannelTrust, type FabricTrust } from './channel-trust.ts';
export { readChannelTransaction, type ChannelTransaction } from './read-transaction.ts';
export type { BlockEntry, WholeBlock } from './whole-block.ts';
