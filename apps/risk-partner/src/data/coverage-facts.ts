import type { Sql } from '@sealgate/storage';
import type { Control, FrameworkRef } from '../domain/control.ts';
import type { Evidence } from '../domain/evidence.ts';
import type { Doc, KindName } from '../domain/resource.ts';
import type { RevisionChange } from './revisions.ts';

/** The row of coverage of each reference, undefined where there is no such requirement. */
export async function coverageIdsOf(
  sql: Sql,
  orgId: string,
  refs: readonly FrameworkRef[],
): Promise<(string | undefined)[]> {
  if (refs.length === 0) return [];
  const rows = await sql.query<{ coverage_id: string | null }>({
    text: `SELECT q.coverage_id
             FROM unnest($2::text[], $3::text[]) WITH ORDINALITY a (framework_id, requirement_id, place)
             LEFT JOIN risk.requirements q ON q.org_id = $1 AND q.framework_id = a.framework_id
                                          AND q.requirement_id = a.requirement_id
            ORDER BY a.place`,
    values: [orgId, refs.map(({ frameworkId }) => frameworkId), refs.map(({ requirementId }) => requirementId)],
  });
  return rows.map(({ coverage_id: id }) => id ?? undefined);
}

/** Ends what coverage knew of a control or of evidence, and begins what it knows from this revision on. */
export async function writeFacts(
  change: RevisionChange,
  kind: KindName,
  { before, after }: { before: Doc | undefined; after: Doc | undefined },
): Promise<void> {
  if (kind === 'control') {
    if (before !== undefined) await endFacts(change, 'control', before.id);
    // The kind says which documents these are.
    if (after !== undefined) await beginControl(change, after as Control);
  } else if (kind === 'evidence') {
    if (before !== undefined) await endFacts(change, 'evidence', before.id);
    if (after !== undefined) await beginEvidence(change, after as Evidence);
  }
}

/** A fact that began in this very revision was never seen by anybody. */
async function endFacts(
  { sql, orgId, revision }: RevisionChange,
  kind: 'control' | 'evidence',
  id: string,
): Promise<void> {
  const values = [orgId, id, revision];
  const which = `org_id = $1 AND ${kind}_id = $2 AND to_revision IS NULL`;
  await sql.query({ text: `DELETE FROM risk.${kind}_facts WHERE ${which} AND from_revision = $3`, values });
  await sql.query({ text: `UPDATE risk.${kind}_facts SET to_revision = $3 WHERE ${which}`, values });
}

async function beginControl({ sql, orgId, revision }: RevisionChange, control: Control): Promise<void> {
  if (control.status === 'retired') return;
  const coverageIds = await coverageIdsOf(sql, orgId, control.frameworkRefs);
  await sql.query({
    text: `INSERT INTO risk.control_facts (org_id, control_id, applicable, coverage_ids, from_revision)
           VALUES ($1, $2, $3, $4, $5)`,
    values: [orgId, control.id, control.status !== 'not_applicable', coverageIds.filter(Boolean), revision],
  });
}

async function beginEvidence({ sql, orgId, revision }: RevisionChange, evidence: Evidence): Promise<void> {
  const { id, ownerId, department, sensitive, state, validUntil, effectiveAt, receivedAt, controlIds } = evidence;
  await sql.query({
    text: `INSERT INTO risk.evidence_facts (org_id, evidence_id, owner_id, department, sensitive, approved, valid_until,
             fresh_at, control_ids, from_revision) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    values: [
      orgId,
      id,
      ownerId,
      department,
      sensitive,
      state === 'approved',
      validUntil,
      effectiveAt ?? receivedAt,
      controlIds,
      revision,
    ],
  });
}
