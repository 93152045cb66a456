import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ledgerMigrations } from '../ledger-grants.ts';
import type { TestLedger } from './open-test-ledger.ts';

const OURS = '(SELECT channel_id FROM ledger.channels WHERE channel = $1)';

/** Rewrites a channel's rows into the format of the version before migration 0015. */
export async function asBefore(test: TestLedger, channel: string): Promise<void> {
  const steps = [
    `UPDATE ledger.channels SET is_wide = true WHERE channel = $1`,
    `INSERT INTO ledger.record_ids (channel_id, id, idx) SELECT channel_id, id, idx FROM ledger.all_ids i
      WHERE channel_id = ${OURS} AND NOT EXISTS (
        SELECT 1 FROM ledger.record_ids w WHERE w.channel_id = i.channel_id AND w.id = i.id)`,
    `DELETE FROM ledger.compact_ids WHERE channel_id = ${OURS}`,
    `INSERT INTO ledger.claims
       (claim, fingerprint, transaction_id, nonce, channel_id, first_index, record_count, indexes, note, made_on)
     SELECT claim, fingerprint, coalesce(transaction_id, ledger.transaction_at(channel_id, first_index)), nonce, channel_id,
            first_index, record_count, indexes, note, made_on
       FROM ledger.all_claims WHERE is_compact AND channel_id = ${OURS}`,
    `DELETE FROM ledger.compact_claims WHERE channel_id = ${OURS}`,
    `UPDATE ledger.records SET data_hash = ledger.content_hash(salt, data, extra)
      WHERE channel_id = ${OURS} AND data_hash IS NULL`,
  ];
  await test.sql.transaction(async (sql) => {
    await sql.query({ text: `SET LOCAL search_path = ledger` });
    await sql.query({ text: `SET LOCAL ledger.enters_wide = 'yes'` });
    for (const text of steps) await sql.query({ text, values: [channel] });
  });
}

/** The SQL of a ledger migration, by file name without `.sql`, split into its up and down steps. */
export function stepsOf(name: string): { readonly up: string; readonly down: string } {
  const text = readFileSync(join(ledgerMigrations.directory, `${name}.sql`), 'utf8');
  const [, up = '', down = ''] = text.split(/^-- (?:Up|Down) Migration$/m);
  return { up, down };
}

/** Runs one transaction with the search path of the ledger, like a migration job. */
export async function runStep(test: TestLedger, text: string): Promise<void> {
  await test.sql.transaction(async (sql) => {
    await sql.query({ text: 'SET LOCAL search_path = ledger' });
    await sql.query({ text });
  });
}
