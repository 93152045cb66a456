export { channelOf, isChannelName, isNetworkId, parseChannel } from './channel-name.ts';
export type {
  AppendUnit,
  AuditReport,
  Ledger,
  LedgerAppender,
  ContractHealth,
  LedgerHealth,
  LedgerReader,
  RecordQuery,
  UnitClaim,
  UnitResult,
} from './ledger.ts';
export {
  ChannelHaltedError,
  ClaimInFlightError,
  LedgerForbiddenError,
  LedgerOverloadedError,
  LedgerUnavailableError,
  OutcomeUnknownError,
} from './ledger-errors.ts';
export type { NewRecord, RecordReceipt, StoredRecord } from './records.ts';
