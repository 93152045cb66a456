import { parseStrict } from '@sealgate/json';
import type { Sql } from '@sealgate/storage';
import type { AnchoredRecord, ProveEvidencePorts } from '../domain/prove-evidence.ts';

/** The ledger records of fingerprints that were proved. */
export const anchoredRecords =
  (sql: Sql): ProveEvidencePorts['anchored'] =>
  async (orgId, ledgerRecordId) => {
    const [row] = await sql.query<{ item: string; data: string }>({
      text: `SELECT p.item, a.data
               FROM risk.proofs p JOIN risk.anchors a ON a.ledger_record_id = p.ledger_record_id
              WHERE p.org_id = $1 AND p.ledger_record_id = $2`,
      values: [orgId, ledgerRecordId],
    });
    if (row === undefined) return undefined;
    const item = JSON.parse(row.item) as AnchoredRecord['proof']; // Written by anchor-store.ts.
    const { channel, index, leafHash, treeSize, inclusionPath, checkpoint } = item;
    const proof = { channel, index, leafHash, treeSize, inclusionPath, checkpoint };
    return { proof, data: parseStrict(Buffer.from(row.data)) };
  };
