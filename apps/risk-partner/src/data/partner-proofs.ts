import assert from 'node:assert/strict';
import type { Sql } from '@sealgate/storage';
import type { RowScope } from '../domain/caller.ts';
import type { PartnerItem, PartnerSource } from '../domain/read-partner.ts';
import { evidenceCondition } from './coverage-facts.ts';
import { prepared } from './prepared.ts';

/** Proofs, each seen by whoever may see what it is of, as that was at the revision and is now. */
export function partnerProofs(sql: Sql): PartnerSource {
  const read = async (
    scope: RowScope,
    revision: number | undefined,
    more: (values: unknown[]) => string,
  ): Promise<PartnerItem[]> => {
    assert(revision !== undefined, 'Proofs are read at a revision.');
    const values: unknown[] = [revision];
    const condition = evidenceCondition('e', scope, values);
    const text = `SELECT p.proof_id AS id, p.created_at, p.item
        FROM risk.proofs p
        JOIN risk.evidence_facts e ON e.org_id = p.org_id AND e.evidence_id = p.evidence_id
       WHERE p.from_revision <= $1 AND ${condition} ${more(values)}`;
    const rows = await sql.query<{ id: string; created_at: Date; item: string }>(prepared(text, values));
    return rows.map(({ id, created_at: createdAt, item }) => ({ id, createdAt: createdAt.toISOString(), text: item }));
  };
  return {
    // Only evidence is proved, and the schema of the filter knows no other word.
    list: (scope, { revision, limit, after }) =>
      read(scope, revision, (values) => {
        const behind =
          after === undefined
            ? ''
            : `AND (p.created_at, p.proof_id) > ($${values.push(after.createdAt)}::timestamptz, $${values.push(after.id)}::text)`;
        return `${behind} ORDER BY p.created_at, p.proof_id LIMIT $${values.push(limit)}`;
      }),
    find: async (scope, id, { revision }) =>
      (await read(scope, revision, (values) => `AND p.proof_id = $${values.push(id)}`))[0],
  };
}
