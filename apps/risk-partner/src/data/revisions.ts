import assert from 'node:assert/strict';
import type { Sql } from '@sealgate/storage';
import type { Doc, KindName, RowAttributes } from '../domain/resource.ts';
import { attributesOf } from './row-condition.ts';

/** The revision being written, in its transaction. */
export interface RevisionChange {
  readonly sql: Sql;
  readonly orgId: string;
  readonly revision: number;
}

/** Starts the next revision; locks the organisation until the transaction ends. */
export async function nextRevision(
  sql: Sql,
  orgId: string,
  atMs: number,
): Promise<{ revision: number; nowMs: number }> {
  const [row] = await sql.query<{ revision: string; revised_at: Date }>({
    text: 'SELECT revision, revised_at FROM risk.next_revision($1, $2)',
    values: [orgId, new Date(atMs)],
  });
  assert(row !== undefined, 'The organisation of a change exists.');
  return { revision: Number(row.revision), nowMs: row.revised_at.getTime() };
}

/** Logs a change for snapshots: -1 with the old attributes, +1 with the new ones. */
export async function recordChanges(
  change: RevisionChange,
  kind: KindName,
  { before, after }: { before: Doc | undefined; after: Doc | undefined },
): Promise<void> {
  const was = before && attributesOf(kind, before);
  const is = after && attributesOf(kind, after);
  const moved = was === undefined || is === undefined || !sameAttributes(was, is);
  const { id } = (after ?? before)!; // One of them is defined.
  if (!moved) return addChanges(change, [{ kind, id, delta: 0, ...is }]);
  // Proofs are visible to those who may see their evidence.
  const kinds = kind === 'evidence' && before !== undefined ? await withProofs(change, before.id) : [kind];
  const rows = kinds.flatMap((name) => [
    ...(was === undefined ? [] : [{ kind: name, id, delta: -1, ...was }]),
    ...(is === undefined ? [] : [{ kind: name, id, delta: 1, ...is }]),
  ]);
  await addChanges(change, rows);
}

async function withProofs({ sql, orgId }: RevisionChange, evidenceId: string): Promise<string[]> {
  const proofs = await sql.query({
    text: 'SELECT 1 FROM risk.proofs WHERE org_id = $1 AND evidence_id = $2',
    values: [orgId, evidenceId],
  });
  return ['evidence', ...proofs.map(() => 'proof')];
}

interface ChangeRow extends RowAttributes {
  readonly kind: string;
  /** The row, to look up its later attributes; for a proof, its evidence. */
  readonly id: string;
  readonly delta: number;
}

export async function addChanges({ sql, orgId, revision }: RevisionChange, rows: readonly ChangeRow[]): Promise<void> {
  await sql.query({
    text: `INSERT INTO risk.changes (org_id, revision, kind, id, owner_id, department, sensitive, delta)
           SELECT $1, $2, c.*
             FROM unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::boolean[], $8::integer[]) c`,
    values: [
      orgId,
      revision,
      rows.map(({ kind }) => kind),
      rows.map(({ id }) => id),
      rows.map(({ ownerId }) => ownerId),
      rows.map(({ department }) => department),
      rows.map(({ sensitive }) => sensitive),
      rows.map(({ delta }) => delta),
    ],
  });
}

function sameAttributes(was: RowAttributes, is: RowAttributes): boolean {
  return was.ownerId === is.ownerId && was.department === is.department && was.sensitive === is.sensitive;
}

/** Logs a change of rows that are visible to the whole organisation. */
export async function addOpenChange(
  { sql, orgId, revision }: RevisionChange,
  kind: string,
  delta: number,
): Promise<void> {
  await sql.query({
    text: `INSERT INTO risk.changes (org_id, revision, kind, sensitive, delta) VALUES ($1, $2, $3, false, $4)`,
    values: [orgId, revision, kind, delta],
  });
}
