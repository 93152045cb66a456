import type { Sql } from '@sealgate/storage';
import type { Control, FrameworkRef } from '../domain/control.ts';
import type { Evidence } from '../domain/evidence.ts';
import type { Doc, KindName } from '../domain/resource.ts';
import type { RowScope } from '../domain/caller.ts';
import { insertRow } from './insert-row.ts';
import type { RevisionChange } from './revisions.ts';
import { attributeColumns, rowCondition } from './row-condition.ts';

/** The coverage row of each reference; undefined if there is no such requirement. */
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

/** Closes the coverage facts of a control or of evidence, and opens those that hold from this revision on. */
export async function writeFacts(
  change: RevisionChange,
  kind: KindName,
  { before, after }: { before: Doc | undefined; after: Doc | undefined },
): Promise<void> {
  if (kind === 'control') {
    if (before !== undefined) await endFacts(change, 'control', before.id);
    // The kind determines the document type.
    if (after !== undefined) await beginControl(change, after as Control);
  } else if (kind === 'evidence') {
    if (before !== undefined) await endFacts(change, 'evidence', before.id);
    if (after !== undefined) await beginEvidence(change, after as Evidence);
  }
}

/**
 * The condition for evidence facts that hold at revision `$1` and that the caller may see, both as the evidence was
 * then and as it is now or was last: what has become hidden since is hidden in every revision.
 */
export function evidenceCondition(alias: string, scope: RowScope, values: unknown[]): string {
  const holds = `${holdsAt(alias)} AND ${rowCondition(alias, scope, values)}`;
  if (scope.unrestricted && scope.canReadSensitive) return holds;
  return `${holds} AND (${alias}.to_revision IS NULL OR EXISTS (
    SELECT FROM (SELECT l.org_id, l.owner_id, l.department, l.sensitive FROM risk.evidence_facts l
                  WHERE l.org_id = ${alias}.org_id AND l.evidence_id = ${alias}.evidence_id
                  ORDER BY l.from_revision DESC LIMIT 1) last WHERE ${rowCondition('last', scope, values)}))`;
}

/** Facts that hold at revision `$1`. */
export const holdsAt = (alias: string): string =>
  `${alias}.from_revision <= $1 AND (${alias}.to_revision IS NULL OR ${alias}.to_revision > $1)`;

/** A fact that began in this revision was never visible, so it is deleted. */
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
  const begins = { org_id: orgId, control_id: control.id, from_revision: revision };
  const facts = { applicable: control.status !== 'not_applicable', coverage_ids: coverageIds.filter(Boolean) };
  await sql.query(insertRow('control_facts', { ...begins, ...facts }));
}

async function beginEvidence({ sql, orgId, revision }: RevisionChange, evidence: Evidence): Promise<void> {
  const begins = { org_id: orgId, evidence_id: evidence.id, from_revision: revision };
  const facts = {
    ...attributeColumns(evidence),
    approved: evidence.state === 'approved',
    valid_until: evidence.validUntil,
    fresh_at: evidence.effectiveAt ?? evidence.receivedAt,
    control_ids: evidence.controlIds,
  };
  await sql.query(insertRow('evidence_facts', { ...begins, ...facts }));
}
