import { expect, it } from '@jest/globals';
import type { Sql } from '@sealgate/storage';
import { auditChange, type AuditEntry } from './index.ts';

const sqlCalled = (name: string): Sql & { readonly name: string } => ({ name, query: () => Promise.resolve([]) });
const [database, transaction] = [sqlCalled('database'), sqlCalled('transaction')];

it('auditChange records the caller in the transaction of the change, or in the database without one', async () => {
  const recorded: [Sql, AuditEntry][] = [];
  const audit = auditChange({ record: async (sql, entry) => void recorded.push([sql, entry]) }, database);
  const context = { caller: { actor: 'admin:01234567', secret: 'x' }, requestId: 'req_1' };
  await audit(context, { action: 'key.mint', resource: 'key', resourceId: 'key_1' }, transaction);
  const erased = { action: 'record.erase', resource: 'record', resourceId: 'r1', detail: { reason: 'asked for' } };
  await audit(context, erased);
  const by = { actor: 'admin:01234567', requestId: 'req_1' };
  expect(recorded).toEqual([
    [transaction, { action: 'key.mint', resource: 'key', resourceId: 'key_1', detail: {}, ...by }],
    [database, { ...erased, ...by }],
  ]);
  expect(recorded.map(([sql]) => (sql as typeof database).name)).toEqual(['transaction', 'database']);
});
