export type { AcceptedSecret } from './accepted-secrets.ts';
export { auditChange, auditMigrations, auditTrail } from './audit-trail.ts';
export type {
  AuditChange,
  AuditContext,
  AuditedChange,
  AuditEntry,
  AuditEvent,
  AuditPage,
  AuditTrail,
  AuditTrailOptions,
} from './audit-trail.ts';
export { connectionOf, openSurface } from './open-surface.ts';
export type { Surface, SurfaceOptions, SurfaceSettings } from './open-surface.ts';
export { secretWatch, startSecretWatch } from './secret-watch.ts';
export type {
  SecretNeed,
  SecretReport,
  SecretStatus,
  SecretUse,
  SecretWatch,
  SecretWatchOptions,
} from './secret-watch.ts';
