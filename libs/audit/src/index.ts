export type { AcceptedSecret } from './accepted-secrets.ts';
export { auditChange } from './audit-change.ts';
export type { AuditChange, AuditContext, AuditedChange } from './audit-change.ts';
export { auditMigrations } from './audit-migrations.ts';
export { auditTrail } from './audit-trail.ts';
export type { AuditEntry, AuditEvent, AuditPage, AuditTrail, AuditTrailOptions } from './audit-trail.ts';
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
