import type { AuditTrail } from '@sealgate/audit';
import type { Database, Sql } from '@sealgate/storage';
import type { Deed } from '../domain/resource-ports.ts';
import type { RecordDeed } from '../record-deed.ts';

/** Writes the audit event of something that no row filter narrows. */
export type WriteDeed = (sql: Sql, orgId: string, deed: Deed) => Promise<void>;

export function writeDeed(audit: AuditTrail): WriteDeed {
  return (sql, orgId, { actorId, ...deed }) => audit.record(sql, { ...deed, actor: actorId, detail: { orgId } });
}

/** A change and its audit event in one transaction. */
export function recordDeedIn(database: Database, write: WriteDeed): RecordDeed {
  return (orgId, work) => database.transaction((sql) => work(sql, (deed) => write(sql, orgId, deed)));
}
