import { isDeepStrictEqual } from 'node:util';
import { AppError, type Fault } from '@sealgate/errors';
import { rowScopeOf, type RiskCaller } from './caller.ts';
import type { Control } from './control.ts';
import {
  afterTransition,
  checkTransition,
  evidenceKind,
  superseded,
  type Evidence,
  type Transition,
} from './evidence.ts';
import { refusePersonalData } from './personal-data.ts';
import { timeText, type Doc, type FilteredDoc, type Kind, type KindName, type Writing } from './resource.ts';
import type { ResourceWrites, Row, WriteUnit } from './resource-ports.ts';

export interface ManagePorts {
  readonly writes: ResourceWrites;
  readonly newId: (prefix: string) => string;
}

/** The caller of a change and the request id. */
interface Requester {
  readonly caller: RiskCaller;
  readonly requestId: string;
}

/** The same error for missing rows and hidden rows. */
export const noSuchRow = (): AppError => new AppError('NOT_FOUND', 'There is nothing at this path.');

/** @throws AppError INVALID_REQUEST, PERSONAL_DATA_REFUSED. */
export async function createResource<D extends Doc, New extends object, Change>(
  { writes, newId }: ManagePorts,
  kind: Kind<D, New, Change>,
  { caller, requestId, body }: Requester & { readonly body: New },
): Promise<Row<D>> {
  return writes.run(caller.orgId, async (unit) => {
    const writing = { id: newId(kind.prefix), personId: caller.personId, nowMs: unit.nowMs };
    const row = { n: 1, doc: kind.make(body, writing) };
    await checkReferences(unit, kind, { caller, doc: row.doc, named: body });
    refusePersonalData(textsOf(row.doc, kind.freeText));
    await unit.put(kind.name, row);
    await unit.record(auditEntry(kind.name, 'create', row.doc.id, { caller, requestId }), {
      kind: kind.name,
      doc: row.doc,
    });
    return row;
  });
}

/**
 * Changes a row; where nothing would be another, it stays as it is, with its version.
 * @throws AppError NOT_FOUND, then what `precondition` throws for the row's `n`, INVALID_REQUEST,
 *   PERSONAL_DATA_REFUSED, INVALID_STATE_TRANSITION.
 */
export async function changeResource<D extends Doc, New, Change extends object>(
  { writes }: ManagePorts,
  kind: Kind<D, New, Change>,
  {
    caller,
    requestId,
    id,
    body,
    precondition,
  }: Requester & { readonly id: string; readonly body: Change; readonly precondition: (n: number) => void },
): Promise<Row<D>> {
  return writes.run(caller.orgId, async (unit) => {
    const before = await findOwn(unit, kind, id, caller);
    precondition(before.n);
    const writing: Writing = { id, personId: caller.personId, nowMs: unit.nowMs };
    const changed = kind.change(before.doc, body, writing);
    await checkReferences(unit, kind, {
      caller,
      doc: changed,
      named: newlySet(kind, { body, before: before.doc, changed }),
    });
    const sent = kind.freeText.filter((name) => name in body && !isSame(before.doc, changed, name));
    refusePersonalData(textsOf(changed, sent));
    const doc = await keepHiddenLinks(unit, kind, { caller, before: before.doc, changed });
    if (isDeepStrictEqual({ ...doc, updatedAt: before.doc.updatedAt }, before.doc)) return before;
    const row = { n: before.n + 1, doc };
    await unit.put(kind.name, row, before);
    await unit.record(auditEntry(kind.name, 'update', id, { caller, requestId }), { kind: kind.name, doc: row.doc });
    return row;
  });
}

const isSame = (before: Doc, changed: Doc, name: string): boolean => {
  const of = (doc: Doc) => (doc as unknown as Readonly<Record<string, unknown>>)[name];
  return isDeepStrictEqual(of(before), of(changed));
};

/**
 * The members of a change that set a new value. An old one may be repeated even if it could not be set any more: an owner
 * who left, a text that today's rules refuse. Links are always checked, as their old values include hidden rows.
 */
function newlySet<D extends Doc, New, Change extends object>(
  kind: Kind<D, New, Change>,
  { body, before, changed }: { readonly body: Change; readonly before: D; readonly changed: D },
): object {
  const set = Object.entries(body).filter(([name]) => name in kind.links || !isSame(before, changed, name));
  return Object.fromEntries(set);
}

/** @throws AppError NOT_FOUND, then what `precondition` throws for the row's `n`. */
export async function removeResource<D extends Doc, New, Change>(
  { writes }: ManagePorts,
  kind: Kind<D, New, Change>,
  {
    caller,
    requestId,
    id,
    precondition,
  }: Requester & { readonly id: string; readonly precondition: (n: number) => void },
): Promise<void> {
  await writes.run(caller.orgId, async (unit) => {
    const row = await findOwn(unit, kind, id, caller);
    precondition(row.n);
    if (kind.name === 'control') await unlinkControl(unit, id);
    await unit.remove(kind.name, row);
    await unit.record(auditEntry(kind.name, 'delete', id, { caller, requestId }), { kind: kind.name, doc: row.doc });
  });
}

/** The row as a document of the kind. @throws AppError NOT_FOUND, also for a hidden row. */
async function findOwn<D extends Doc, New, Change>(
  unit: WriteUnit,
  kind: Kind<D, New, Change>,
  id: string,
  caller: RiskCaller,
): Promise<Row<D>> {
  const row = await unit.find(kind.name, id, rowScopeOf(caller));
  if (row === undefined) throw noSuchRow();
  // Rows are stored by the kind of their document.
  return row as Row<D>;
}

export function auditEntry(resource: string, verb: string, resourceId: string, { caller, requestId }: Requester) {
  return { actorId: caller.personId, action: `${resource}.${verb}`, resource, resourceId, requestId };
}

/** The free-text members of a document by their JSON pointers. */
function textsOf(doc: Doc, names: readonly string[]): Record<string, string | null> {
  const members = doc as unknown as Readonly<Record<string, string | null>>; // The kind names text members only.
  return Object.fromEntries(names.map((name) => [`/${name}`, members[name] ?? null]));
}

interface Referring<D> {
  readonly caller: RiskCaller;
  readonly doc: D;
  /** The members sent with the request: the others were checked when they were written. */
  readonly named: object;
}

/** Checks that owner, links and framework references exist and are visible to the caller. */
async function checkReferences<D extends Doc, New, Change>(
  unit: WriteUnit,
  kind: Kind<D, New, Change>,
  { caller, doc, named }: Referring<D>,
): Promise<void> {
  const faults: Fault[] = [];
  const members = doc as Doc & Partial<FilteredDoc & Control>; // Checked for presence below.
  if ('ownerId' in named && members.ownerId !== undefined && !(await unit.isMember(members.ownerId)))
    faults.push({ in: 'body', pointer: '/ownerId', detail: 'is no member of the organisation' });
  for (const [member, linked] of Object.entries(kind.links)) {
    if (!(member in named)) continue;
    const ids = idsOf(doc, member);
    const visible = await unit.visible(linked, ids, rowScopeOf(caller));
    ids.forEach((id, index) => {
      if (!visible.has(id)) faults.push({ in: 'body', pointer: `/${member}/${index}`, detail: `is no ${linked}` });
    });
  }
  if ('frameworkRefs' in named) {
    const coverage = await unit.coverageIds(members.frameworkRefs ?? []);
    coverage.forEach((id, index) => {
      if (id === undefined)
        faults.push({ in: 'body', pointer: `/frameworkRefs/${index}`, detail: 'is no requirement' });
    });
  }
  if (faults.length > 0)
    throw new AppError('INVALID_REQUEST', 'The request refers to something that does not exist.', { faults });
}

/** Keeps links that are hidden from the caller: a list without them does not mean to remove them. */
async function keepHiddenLinks<D extends Doc, New, Change>(
  unit: WriteUnit,
  kind: Kind<D, New, Change>,
  { caller, before, changed }: { readonly caller: RiskCaller; readonly before: D; readonly changed: D },
): Promise<D> {
  let doc = changed;
  for (const [member, linked] of Object.entries(kind.links)) {
    const gone = idsOf(before, member).filter((id) => !idsOf(changed, member).includes(id));
    const visible = await unit.visible(linked, gone, rowScopeOf(caller));
    const hidden = gone.filter((id) => !visible.has(id));
    if (hidden.length > 0) doc = { ...doc, [member]: [...idsOf(doc, member), ...hidden] };
  }
  return doc;
}

/** Removes a deleted control from all rows that link to it, as partners see those links. */
async function unlinkControl(unit: WriteUnit, controlId: string): Promise<void> {
  const linking = (kind: KindName) => unit.withFacet(kind, `link:${controlId}`);
  for (const kind of ['risk', 'evidence', 'asset'] as const) {
    // In batches: a written row no longer has the link.
    for (let rows = await linking(kind); rows.length > 0; rows = await linking(kind)) {
      for (const row of rows) {
        const controlIds = idsOf(row.doc, 'controlIds').filter((id) => id !== controlId);
        const doc = { ...row.doc, controlIds, updatedAt: timeText(unit.nowMs) };
        await unit.put(kind, { n: row.n + 1, doc }, row);
      }
    }
  }
}

/** The ids of a link member, which is a list of ids, or one id or null. */
export function idsOf(doc: Doc, member: string): readonly string[] {
  const value = (doc as unknown as Record<string, readonly string[] | string | null>)[member] ?? [];
  return typeof value === 'string' ? [value] : value;
}

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
): Promise<Row<Evidence> & { readonly anchoredAs: string | undefined }> {
  checkTransition(transition);
  return writes.run(caller.orgId, async (unit) => {
    const before = await findOwn(unit, evidenceKind, id, caller);
    precondition(before.n);
    const writing = { id: newId(evidenceKind.prefix), personId: caller.personId, nowMs: unit.nowMs };
    const doc = afterTransition(before.doc, transition, writing);
    refusePersonalData({ '/mediaType': transition.mediaType });
    const row = doc.id === id ? await replaceRow(unit, before, doc) : await addSuccessor(unit, id, doc, caller);
    const anchoredAs = doc.state === 'approved' ? await settleApproval(unit, doc) : undefined;
    await unit.record(auditEntry('evidence', transition.to, doc.id, { caller, requestId }), { kind: 'evidence', doc });
    return { ...row, anchoredAs };
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

/** Returns the id that the ledger record of the evidence will have. */
async function settleApproval(unit: WriteUnit, doc: Evidence): Promise<string | undefined> {
  const anchoredAs = doc.sha256 === null ? undefined : await unit.anchor(doc);
  await supersede(unit, doc.previousId);
  return anchoredAs;
}

async function supersede(unit: WriteUnit, previousId: string | null): Promise<void> {
  if (previousId === null) return;
  const previous = await unit.find('evidence', previousId);
  if (previous === undefined) return;
  const evidence = previous.doc as Evidence; // Of kind 'evidence'.
  if (evidence.state !== 'approved') return;
  await unit.put('evidence', { n: previous.n + 1, doc: superseded(evidence, unit.nowMs) }, previous);
}
