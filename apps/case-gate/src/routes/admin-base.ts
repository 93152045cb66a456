import { Type } from '@sinclair/typebox';
import type { AuditChange } from '@sealgate/audit';
import type { CursorCodec } from '@sealgate/paging';
import type { RecordingSql } from '../data/ledger-writer.ts';
import { DEFAULT_ENVIRONMENT, Environment } from '../schemas.ts';

/** What every admin route says of itself. */
export const adminBase = { charge: 'none', idempotency: 'none', permit: 'authenticated' } as const;

export const environmentQuery = { environment: Type.Optional(Environment) };
export const EnvironmentQuery = Type.Object(environmentQuery, { additionalProperties: false });

/** Where a request acts: what its body says, else its query, else `live`. */
export function environmentOf(
  body: { readonly environment?: string | undefined },
  query: { readonly environment?: string | undefined } = {},
): string {
  return body.environment ?? query.environment ?? DEFAULT_ENVIRONMENT;
}

export interface AdminPorts {
  readonly cursors: CursorCodec;
  /** A change and its audit event are written together or not at all; then the ledger has the change, or a second is over. */
  readonly inSql: <Result>(work: (sql: RecordingSql) => Promise<Result>) => Promise<Result>;
  readonly auditChange: AuditChange;
  readonly now: () => number;
}
