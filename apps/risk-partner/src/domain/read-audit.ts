import type { RowScope } from './caller.ts';

/** One deed, as the dashboard shows it. */
export interface AuditEvent {
  readonly id: string;
  readonly at: string;
  readonly actorId: string;
  readonly action: string;
  readonly resource: string;
  readonly resourceId: string;
}

export interface AuditReads {
  /** Events of the organisation, newest first. Those of rows that the scope hides are hidden too. */
  list(
    scope: RowScope,
    page: { readonly limit: number; readonly before: { readonly at: string; readonly id: string } | undefined },
  ): Promise<AuditEvent[]>;
}
