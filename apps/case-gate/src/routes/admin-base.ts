import { Type } from '@sinclair/typebox';
import type { AuditLedgerChange } from '@sealgate/admin-api';
import type { AuditChange } from '@sealgate/audit';
import type { CursorCodec } from '@sealgate/paging';
import type { RecordingSql } from '../data/ledger-writer.ts';
import { DEFAULT_ENVIRONMENT, OptionalEnvironment } from '../schemas.ts';

export const environmentQuery = { environment: OptionalEnvironment };
/** Of a list of one environment, for `listRoute`. */
export const ofEnvironment = { filters: environmentQuery, defaults: { environment: DEFAULT_ENVIRONMENT } };
/** Of a list of signed rows. */
export const signedOrders = {
  search: true,
  sorts: { fields: ['id', 'created_at', 'updated_at'], default: 'id' },
} as const;
export const EnvironmentQuery = Type.Object(environmentQuery, { additionalProperties: false });

/** The environment of a request: from its body, else its query, else `live`. */
export function environmentOf(
  body: { readonly environment?: string | undefined },
  query: { readonly environment?: string | undefined } = {},
): string {
  return body.environment ?? query.environment ?? DEFAULT_ENVIRONMENT;
}

export interface AdminPorts {
  readonly cursors: CursorCodec;
  /** Runs a change and its audit event in one transaction, then waits up to a second for the ledger record. */
  readonly inSql: <Result>(work: (sql: RecordingSql) => Promise<Result>) => Promise<Result>;
  readonly auditChange: AuditChange & AuditLedgerChange;
  readonly now: () => number;
}
