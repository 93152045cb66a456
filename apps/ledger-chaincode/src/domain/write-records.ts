import { Refusal } from './refusal.ts';
import type { NewRecord, Receipt, RecordHead, RecordVersion } from './record.ts';

/** Ledger access of a write. Reads see the state before the transaction, never its own writes. */
export interface RecordWriter {
  readonly transactionId: string;
  /** The submitter's timestamp, as stored in a record. */
  readonly at: string;
  /** The newest version; undefined if the id was never written. */
  head(id: string): Promise<RecordHead | undefined>;
  /** Stores the newest version, replacing `replaced`. */
  put(version: RecordVersion, replaced: RecordHead | undefined): Promise<void>;
}

/** What to do if the id holds other content. */
type OnOtherContent = 'refuse' | 'new version';

/**
 * Writes each record whose content is not stored yet, and returns a receipt for each, in order. All are read before the
 * first is written. @throws Refusal RECORD_CONFLICT for the first id that holds other content, if that is rejected.
 */
export async function writeRecords(
  ledger: RecordWriter,
  records: readonly NewRecord[],
  onOtherContent: OnOtherContent,
): Promise<Receipt[]> {
  const heads: (RecordHead | undefined)[] = [];
  for (const record of records) heads.push(await ledger.head(record.id));
  const { transactionId, at } = ledger;
  const receipts: Receipt[] = [];
  for (const [index, record] of records.entries()) {
    const head = heads[index];
    if (head !== undefined && head.contentHash === record.contentHash) {
      receipts.push({
        id: record.id,
        transactionId: head.transactionId,
        existing: true,
        version: head.version,
      });
      continue;
    }
    if (head !== undefined && onOtherContent === 'refuse') throw new Refusal('RECORD_CONFLICT', { id: record.id });
    const version = (head?.version ?? 0) + 1;
    await ledger.put({ ...record, version, transactionId, at }, head);
    receipts.push({ id: record.id, transactionId, existing: false, version });
  }
  return receipts;
}
