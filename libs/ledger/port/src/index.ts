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
  UnitGuard,
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
  StaleGuardError,
} from './ledger-errors.ts';
export type { NewRecord, RecordReceipt, StoredRecord } from './records.ts';
