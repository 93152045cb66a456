import { expect, it } from '@jest/globals';
import { LedgerUnavailableError } from '@sealgate/ledger-port';
import type { Sql } from '@sealgate/storage';
import { isOutage, readLedger } from './database-problem.ts';

it('a read that a deadlock with a migration ended is an outage, which passes', async () => {
  const deadlock = Object.assign(new Error('deadlock detected'), { code: '40P01' });
  const sql = { query: () => Promise.reject(deadlock) } as unknown as Sql;
  const said: unknown = await readLedger(sql, { text: 'SELECT 1' }, 1_000).catch((error: unknown) => error);
  expect(said).toBeInstanceOf(LedgerUnavailableError);
  expect(isOutage(said)).toBe(true);
});
