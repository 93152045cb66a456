import type { Sql } from '@sealgate/storage';
import type { Deed } from './domain/resource-ports.ts';

/** Runs a change and its audit event as one transaction. `record` writes the event of the organisation. */
export type RecordDeed = <Result>(
  orgId: string,
  work: (sql: Sql, record: (deed: Deed) => Promise<void>) => Promise<Result>,
) => Promise<Result>;
