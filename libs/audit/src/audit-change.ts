import type { Sql } from '@sealgate/storage';
import type { AuditTrail } from './audit-trail.ts';

/** Who asks, in which request: what the handler of an admin route is given says it. */
export interface AuditContext {
  readonly caller: { readonly actor: string };
  readonly requestId: string;
}

/** What was done to which thing. */
export interface AuditedChange {
  readonly action: string;
  readonly resource: string;
  readonly resourceId: string;
  readonly detail?: Readonly<Record<string, string>>;
}

/** Writes the audit event of a change in the transaction of the change, so that neither is there alone. */
export type AuditChange = (context: AuditContext, change: AuditedChange, transaction: Sql) => Promise<void>;

/**
 * The `AuditChange` of a trail. Given no transaction, because the change is not one of this database, the event goes to
 * `otherwise` by itself. Ends as `Sql` says.
 */
export function auditChange(trail: Pick<AuditTrail, 'record'>, otherwise: Sql) {
  return (
    { caller, requestId }: AuditContext,
    { detail = {}, ...change }: AuditedChange,
    transaction: Sql = otherwise,
  ): Promise<void> => trail.record(transaction, { ...change, detail: { ...detail }, actor: caller.actor, requestId });
}
