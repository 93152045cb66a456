import type { AdminCaller } from '@sealgate/http';
import type { Sql } from '@sealgate/storage';

export interface Change {
  readonly action: string;
  readonly resource: string;
  readonly resourceId: string;
}

/** Writes the audit event of an admin change in the transaction of the change, so that neither is there alone. */
export type AuditChange = (
  context: { readonly caller: AdminCaller; readonly requestId: string },
  change: Change & { readonly detail?: Readonly<Record<string, string>> },
  transaction: Sql,
) => Promise<void>;
