import type { AuditTrail } from '@sealgate/audit';
import type { Database, Sql } from '@sealgate/storage';
import type { AuditEntry } from './domain/resource-ports.ts';
import type { RecordExport } from './routes/exports.ts';

interface DetailedEntry extends AuditEntry {
  /** For readers of the admin listener. */
  readonly detail?: Readonly<Record<string, string | number>> | undefined;
}

/** Writes the audit event of a change that row filters do not apply to. */
export type WriteEntry = (sql: Sql, orgId: string, entry: DetailedEntry) => Promise<void>;

export function writeEntry(audit: AuditTrail): WriteEntry {
  return (sql, orgId, { actorId, detail, ...entry }) =>
    audit.record(sql, { ...entry, actor: actorId, detail: { orgId, ...detail } });
}

/** Runs a change and its audit event in one transaction; `record` writes the event. */
export type RunAudited = <Result>(
  orgId: string,
  work: (sql: Sql, record: (entry: DetailedEntry) => Promise<void>) => Promise<Result>,
) => Promise<Result>;

export function runAuditedIn(database: Database, write: WriteEntry): RunAudited {
  return (orgId, work) => database.transaction((sql) => work(sql, (entry) => write(sql, orgId, entry)));
}

/** The event of an export is about its list, which every reader of the audit may know. */
export function exportRecorder(database: Database, audit: AuditTrail): RecordExport {
  return ({ caller: { orgId, personId: actor }, requestId }, { resource, collection, query }) =>
    audit.record(database, {
      actor,
      action: `${resource}.export`,
      resource: 'list',
      resourceId: collection,
      requestId,
      detail: { orgId, query },
    });
}
