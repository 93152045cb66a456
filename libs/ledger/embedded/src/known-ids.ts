import type { AppendUnit } from '@sealgate/ledger-port';
import { textArray, type Sql } from '@sealgate/storage';
import { readLedger } from './database-problem.ts';

const READ_WITHIN_MS = 2000;

/**
 * `LedgerAppender.findConflict` over any connection, including one in a transaction of the caller.
 * @throws LedgerUnavailableError if the database does not answer.
 */
export async function conflictIn(
  sql: Sql,
  { channel, claim, records }: Pick<AppendUnit, 'channel' | 'claim' | 'records'>,
  withinMs = READ_WITHIN_MS,
): Promise<string | undefined> {
  const statement = {
    name: 'ledger conflict',
    text: 'SELECT ledger.conflict($1, $2, $3, $4, $5, $6, $7) AS id',
    values: [
      channel,
      claim?.claim ?? null,
      textArray(records.map(({ id }) => id)),
      textArray(records.map(({ type }) => type)),
      textArray(records.map(({ owner }) => owner)),
      textArray(records.map(({ data }) => data)),
      textArray(records.map(({ extra }) => extra)),
    ],
  };
  const [row] = await readLedger<{ id: string | null }>(sql, statement, withinMs);
  return row?.id ?? undefined;
}

/**
 * Returns the ids that the channel holds, regardless of their content. After a declared loss an id that is not held may
 * have existed: the caller checks the channel's epochs.
 * @throws LedgerUnavailableError if the database does not answer.
 */
export async function heldIn(
  sql: Sql,
  channel: string,
  ids: readonly string[],
  withinMs = READ_WITHIN_MS,
): Promise<ReadonlySet<string>> {
  const statement = {
    name: 'ledger held',
    text: 'SELECT ledger.held($1, $2) AS held',
    values: [channel, textArray(ids)],
  };
  const [row] = await readLedger<{ held: string[] | null }>(sql, statement, withinMs);
  return new Set(row?.held ?? []);
}
