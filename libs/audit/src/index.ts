export { AUDIT_COLUMNS, type AuditRow } from './audit-chain.ts';
export { auditChange, auditMigrations, auditTrail } from './audit-trail.ts';
export type { AuditChange, AuditEntry, AuditTrail } from './audit-trail.ts';
export { connectionOf, openSurface } from './open-surface.ts';
export type { Surface } from './open-surface.ts';
export { secretWatch, startSecretWatch } from './secret-watch.ts';
export type { SecretUse, SecretWatch } from './secret-watch.ts';
