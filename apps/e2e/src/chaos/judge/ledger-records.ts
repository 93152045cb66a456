import { hash } from 'node:crypto';
import { canonical } from './canonical.ts';
import type { Databases } from './databases.ts';

/** A record as its row, or the ledger elsewhere, has it. */
export interface LedgerRecord {
  readonly channel: string;
  readonly network: string;
  readonly index: number;
  readonly id: string;
  readonly type: string;
  readonly owner: string | null;
  /** Canonical JSON; null once it is erased. */
  readonly data: string | null;
  readonly extra: string | null;
  readonly transactionId: string;
  /** Undefined where the ledger has no tree. */
  readonly leafHash: string | undefined;
  /** Of the columns by RFC 6962 and the format of our leaves; undefined where the content was erased. */
  readonly leafOfColumns: string | undefined;
}

interface Row {
  readonly index: string;
  readonly id: string;
  readonly type: string;
  readonly owner: string | null;
  readonly data: string | null;
  readonly extra: string | null;
  readonly salt: Buffer | null;
  readonly leaf_hash: Buffer;
  readonly transaction_id: Buffer;
  readonly at_ms: string;
}

const PAGE = 5_000;

/** Every record of every log in these databases, each log in its order. Records that were moved to an archive are not read. */
export async function* ledgerRecords(databases: Databases): AsyncGenerator<LedgerRecord> {
  for (const surface of databases.distinct) {
    const channels = await databases.rows<{ channel_id: number; channel: string; network: string; size: string }>(
      surface,
      'SELECT channel_id, channel, network, size FROM ledger.channels ORDER BY channel COLLATE "C"',
    );
    for (const channel of channels) yield* recordsOf(databases, surface, channel);
  }
}

async function* recordsOf(
  databases: Databases,
  surface: string,
  { channel_id, channel, network }: { channel_id: number; channel: string; network: string },
): AsyncGenerator<LedgerRecord> {
  for (let after = -1; ;) {
    const rows = await databases.rows<Row>(
      surface,
      `SELECT idx AS index, id, type, owner, data, extra, salt, leaf_hash, transaction_id, at_ms
         FROM ledger.records WHERE channel_id = $1 AND idx > $2 ORDER BY idx LIMIT ${PAGE}`,
      [channel_id, after],
    );
    for (const row of rows) yield recordOf(row, channel, network);
    if (rows.length < PAGE) return;
    after = Number(rows.at(-1)!.index);
  }
}

function recordOf(row: Row, channel: string, network: string): LedgerRecord {
  const { index, id, type, owner, data, extra } = row;
  const shown = { channel, network, index: Number(index), id, type, owner, data, extra };
  const transactionId = row.transaction_id.toString('hex');
  return {
    ...shown,
    transactionId,
    leafHash: row.leaf_hash.toString('hex'),
    leafOfColumns: row.salt === null || data === null ? undefined : leafOf({ ...shown, transactionId }, row),
  };
}

function leafOf(
  { channel, network, id, type, owner, data, extra, transactionId }: Omit<LedgerRecord, 'leafHash' | 'leafOfColumns'>,
  { salt, at_ms }: Row,
): string {
  const content = Buffer.from(`{"data":${data},"extra":${extra ?? 'null'}}`);
  const dataHash = hash('sha256', Buffer.concat([salt!, content]), 'hex');
  const at = new Date(Number(at_ms)).toISOString();
  const leaf = canonical({ v: 1, network, channel, id, type, owner, dataHash, transactionId, at });
  return hash('sha256', Buffer.concat([Buffer.of(0), Buffer.from(leaf)]), 'hex');
}
