import type { AdminCaller } from '@sealgate/http';

export interface Change {
  readonly action: string;
  readonly resource: string;
  readonly resourceId: string;
}

/** Writes the audit event of an admin change. */
export type RecordChange = (
  context: { readonly caller: AdminCaller; readonly requestId: string },
  change: Change & { readonly detail?: Readonly<Record<string, string>> },
) => Promise<void>;
