export { auditMigrations } from './audit-migrations.ts';
export { auditTrail } from './audit-trail.ts';
export type { AuditEntry, AuditEvent, AuditPage, AuditTrail, AuditTrailOptions } from './audit-trail.ts';
