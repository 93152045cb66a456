export {
  ActorNames,
  ADMIN_BODY_MAX_BYTES,
  adminApp,
  adminBase,
  adminRoute,
  CASES,
  forReaders,
  OPERATORS_ONLY,
  POLICIES,
  type AdminCaller,
  type AdminSignIn,
  type AuditLedgerChange,
  type NamesOfActors,
} from './admin-app.ts';
export { auditProblem } from './audit-routes.ts';
export { describedTerms, keyPosition, keyRoutes, keyTerms, keyView, rotationTerms } from './key-routes.ts';
export { exportedList, LIST_RANGE, listRoute, period, periodText, rowsOf, timeFilter } from './list-route.ts';
export { ledgerCall } from './ledger-loss.ts';
export {
  adminLedgerRoutes,
  adminRecordRoutes,
  type AdminLedgerPorts,
  type LedgerAdministration,
} from './ledger-routes.ts';
export { resourceRoutes, rowAnswers } from './resource-routes.ts';
export { adminStateRoutes, type AdminStatePorts, type WaitingItem } from './state-routes.ts';
