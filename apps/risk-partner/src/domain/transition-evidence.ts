import { AppError } from '@sealgate/errors';
import { rowScopeOf, type RiskCaller } from './caller.ts';
import {
  afterTransition,
  checkTransition,
  evidenceKind,
  superseded,
  type Evidence,
  type Transition,
} from './evidence.ts';
import { auditEntry, findOwn, type Requester, type ManagePorts } from './manage-resources.ts';
import { refusePersonalData } from './personal-data.ts';
import type { Row, WriteUnit } from './resource-ports.ts';

/**
 * Changes the state of evidence. Approval adds the fingerprint to the outbox of the ledger in the same transaction, and
 * supersedes the evidence that it was collected to replace.
 * @throws AppError INVALID_REQUEST, NOT_FOUND, then what `precondition` throws for the row's `n`, FORBIDDEN,
 *   INVALID_STATE_TRANSITION, PERSONAL_DATA_REFUSED.
 */
export async function transitionEvidence(
  { writes, newId }: ManagePorts,
  {
    caller,
    requestId,
    id,
    transition,
    precondition,
  }: Requester & { readonly id: string; readonly transition: Transition; readonly precondition: (n: number) => void },
): Promise<Row<Evidence>> {
  checkTransition(transition);
  return writes.run(caller.orgId, async (unit) => {
    const before = await findOwn(unit, evidenceKind, id, caller);
    precondition(before.n);
    const writing = { id: newId(evidenceKind.prefix), personId: caller.personId, nowMs: unit.nowMs };
    const doc = afterTransition(before.doc, transition, writing);
    refusePersonalData({ '/mediaType': transition.mediaType });
    const row = doc.id === id ? await replaceRow(unit, before, doc) : await addSuccessor(unit, id, doc, caller);
    if (doc.state === 'approved') await settleApproval(unit, doc);
    await unit.record(auditEntry('evidence', transition.to, doc.id, { caller, requestId }), { kind: 'evidence', doc });
    return row;
  });
}

async function replaceRow(unit: WriteUnit, before: Row<Evidence>, doc: Evidence): Promise<Row<Evidence>> {
  const row = { n: before.n + 1, doc };
  await unit.put('evidence', row, before);
  return row;
}

/** A hidden successor is ignored, as a refusal would reveal it. */
async function addSuccessor(unit: WriteUnit, id: string, doc: Evidence, caller: RiskCaller): Promise<Row<Evidence>> {
  const rows = (await unit.withFacet('evidence', `previous:${id}`)).map((row) => row.doc as Evidence); // All of kind 'evidence'.
  const successors = rows.filter(({ state }) => state !== 'revoked').map((successor) => successor.id);
  if ((await unit.visible('evidence', successors, rowScopeOf(caller))).size > 0)
    throw new AppError('INVALID_STATE_TRANSITION', 'A newer version has already been collected.');
  const row = { n: 1, doc };
  await unit.put('evidence', row);
  return row;
}

async function settleApproval(unit: WriteUnit, doc: Evidence): Promise<void> {
  if (doc.sha256 !== null) await unit.anchor(doc);
  if (doc.previousId === null) return;
  const previous = await unit.find('evidence', doc.previousId);
  if (previous === undefined) return;
  const evidence = previous.doc as Evidence; // Of kind 'evidence'.
  if (evidence.state !== 'approved') return;
  await unit.put('evidence', { n: previous.n + 1, doc: superseded(evidence, unit.nowMs) }, previous);
}
