import { parseStrict } from '@sealgate/json';
import type { Sql } from '@sealgate/storage';
import type { AnchoredRecord, ProveEvidencePorts } from '../domain/prove-evidence.ts';

/** The ledger records of fingerprints. */
export const anchoredRecords =
  (sql: Sql): ProveEvidencePorts['anchored'] =>
  async (orgId, ledgerRecordId) => {
    const [row] = await sql.query<{ item: string | null; data: string }>({
      text: `SELECT p.item, a.data
               FROM risk.anchors a LEFT JOIN risk.proofs p ON p.ledger_record_id = a.ledger_record_id
              WHERE a.org_id = $1 AND a.ledger_record_id = $2 AND a.state IN ('anchored', 'proved')`,
      values: [orgId, ledgerRecordId],
    });
    if (row === undefined) return undefined;
    return { proof: row.item === null ? undefined : proofIn(row.item), data: parseStrict(Buffer.from(row.data)) };
  };

/** The item was written by anchor-store.ts. */
function proofIn(text: string): AnchoredRecord['proof'] {
  const item = JSON.parse(text) as Exclude<AnchoredRecord['proof'], undefined>;
  if ('receipt' in item) return { receipt: item.receipt, proof: item.proof };
  const { channel, index, leafHash, treeSize, inclusionPath, checkpoint } = item;
  return { channel, index, leafHash, treeSize, inclusionPath, checkpoint };
}
