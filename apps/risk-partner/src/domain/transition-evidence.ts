import { AppError } from '@sealgate/errors';
import {
  afterTransition,
  checkTransition,
  evidenceKind,
  superseded,
  type Evidence,
  type Transition,
} from './evidence.ts';
import { deed, findOwn, type Asker, type ManagePorts } from './manage-resources.ts';
import type { Row, WriteUnit } from './resource-ports.ts';

/**
 * Moves evidence along its life. Approving puts the fingerprint into the outbox of the ledger in the same transaction; a
 * successor that is approved supersedes what it was collected for.
 * @throws AppError INVALID_REQUEST, NOT_FOUND, FORBIDDEN, INVALID_STATE_TRANSITION.
 */
export async function transitionEvidence(
  { writes, newId }: ManagePorts,
  { caller, requestId, id, transition }: Asker & { readonly id: string; readonly transition: Transition },
): Promise<Row<Evidence>> {
  checkTransition(transition);
  return writes.run(caller.orgId, async (unit) => {
    const before = await findOwn(unit, evidenceKind, id, caller);
    const writing = { id: newId(evidenceKind.prefix), personId: caller.personId, nowMs: unit.nowMs };
    const doc = afterTransition(before.doc, transition, writing);
    const row = doc.id === id ? await replaceRow(unit, before, doc) : await addSuccessor(unit, id, doc);
    if (doc.state === 'approved') await settleApproval(unit, doc);
    await unit.record(deed('evidence', transition.to, doc.id, { caller, requestId }), { kind: 'evidence', doc });
    return row;
  });
}

async function replaceRow(unit: WriteUnit, before: Row<Evidence>, doc: Evidence): Promise<Row<Evidence>> {
  const row = { n: before.n + 1, doc };
  await unit.put('evidence', row, before);
  return row;
}

async function addSuccessor(unit: WriteUnit, id: string, doc: Evidence): Promise<Row<Evidence>> {
  const successors = await unit.withFacet('evidence', `previous:${id}`);
  // Rows of this kind hold evidence.
  if (successors.some((row) => (row.doc as Evidence).state !== 'revoked'))
    throw new AppError('INVALID_STATE_TRANSITION', 'A newer version has been collected already.');
  const row = { n: 1, doc };
  await unit.put('evidence', row);
  return row;
}

async function settleApproval(unit: WriteUnit, doc: Evidence): Promise<void> {
  if (doc.sha256 !== null) await unit.anchor(doc);
  if (doc.previousId === null) return;
  const previous = await unit.find('evidence', doc.previousId);
  if (previous === undefined) return;
  const evidence = previous.doc as Evidence; // Found as evidence.
  if (evidence.state !== 'approved') return;
  await unit.put('evidence', { n: previous.n + 1, doc: superseded(evidence, unit.nowMs) }, previous);
}
