import assert from 'node:assert/strict';
import type { Sql } from '@sealgate/storage';
import type { Doc, KindName, RowAttributes } from '../domain/resource.ts';
import { insertRow } from './insert-row.ts';
import { attributeColumns, attributesOf } from './row-condition.ts';

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
  if (was !== undefined && is !== undefined) await tellMoved(change, id);
}

/** The attributes of the row in its changes before are not its current ones any more. */
async function tellMoved({ sql, orgId }: RevisionChange, id: string): Promise<void> {
  const text = 'UPDATE risk.changes SET has_moved = true WHERE org_id = $1 AND id = $2 AND NOT has_moved';
  await sql.query({ text, values: [orgId, id] });
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
  const changes = rows.map(({ kind, id, delta, ...attributes }) => ({
    kind,
    id,
    ...attributeColumns(attributes),
    delta,
  }));
  const names = Object.keys(CHANGE_COLUMNS) as (keyof typeof CHANGE_COLUMNS)[];
  const lists = names.map((name, index) => `$${index + 3}::${CHANGE_COLUMNS[name]}[]`);
  await sql.query({
    text: `INSERT INTO risk.changes (org_id, revision, ${names.join(', ')})
           SELECT $1, $2, c.* FROM unnest(${lists.join(', ')}) c`,
    values: [orgId, revision, ...names.map((name) => changes.map((change) => change[name]))],
  });
}

/** The columns of a change besides its revision, with their types. */
const CHANGE_COLUMNS = {
  kind: 'text',
  id: 'text',
  owner_id: 'text',
  department: 'text',
  sensitive: 'boolean',
  delta: 'integer',
} as const;

function sameAttributes(was: RowAttributes, is: RowAttributes): boolean {
  return was.ownerId === is.ownerId && was.department === is.department && was.sensitive === is.sensitive;
}

/** Logs a change of rows that are visible to the whole organisation. */
export async function addOpenChange(
  { sql, orgId, revision }: RevisionChange,
  kind: string,
  delta: number,
): Promise<void> {
  await sql.query(insertRow('changes', { org_id: orgId, revision, kind, sensitive: false, delta }));
}
