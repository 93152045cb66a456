export { channelOf, isChannelName, isNetworkId, parseChannel } from './channel-name.ts';
export type {
  AppendUnit,
  ArchiveOrder,
  ArchiveProgress,
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
  ArchiveRefusedError,
  ChannelHaltedError,
  ClaimInFlightError,
  LedgerArchivedError,
  LedgerForbiddenError,
  LedgerOverloadedError,
  LedgerUnavailableError,
  OutcomeUnknownError,
} from './ledger-errors.ts';
export type { NewRecord, RecordReceipt, StoredRecord } from './records.ts';
