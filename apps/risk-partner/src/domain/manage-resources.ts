import { AppError, type Fault } from '@sealgate/errors';
import { rowScopeOf, type RiskCaller } from './caller.ts';
import type { Control } from './control.ts';
import { refusePersonalData } from './personal-data.ts';
import { timeText, type Doc, type FilteredDoc, type Kind, type KindName, type Writing } from './resource.ts';
import type { ResourceWrites, Row, WriteUnit } from './resource-ports.ts';

export interface ManagePorts {
  readonly writes: ResourceWrites;
  readonly newId: (prefix: string) => string;
}

/** Who asks for a change, under which request. */
export interface Asker {
  readonly caller: RiskCaller;
  readonly requestId: string;
}

/** One error for rows that are not there and rows that the caller may not see. */
export const noSuchRow = (): AppError => new AppError('NOT_FOUND', 'There is nothing at this path.');

/** @throws AppError INVALID_REQUEST, PERSONAL_DATA_REFUSED. */
export async function createResource<D extends Doc, New extends object, Change>(
  { writes, newId }: ManagePorts,
  kind: Kind<D, New, Change>,
  { caller, requestId, body }: Asker & { readonly body: New },
): Promise<Row<D>> {
  return writes.run(caller.orgId, async (unit) => {
    const writing = { id: newId(kind.prefix), personId: caller.personId, nowMs: unit.nowMs };
    const row = { n: 1, doc: kind.make(body, writing) };
    await checkReferences(unit, kind, { caller, doc: row.doc, named: body });
    refusePersonalData(pointed(kind.freeText(row.doc)));
    await unit.put(kind.name, row);
    await unit.record(deed(kind.name, 'create', row.doc.id, { caller, requestId }), { kind: kind.name, doc: row.doc });
    return row;
  });
}

/**
 * @throws AppError NOT_FOUND, then what `precondition` throws for the row's `n`, INVALID_REQUEST, PERSONAL_DATA_REFUSED,
 *   INVALID_STATE_TRANSITION.
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
  }: Asker & { readonly id: string; readonly body: Change; readonly precondition: (n: number) => void },
): Promise<Row<D>> {
  return writes.run(caller.orgId, async (unit) => {
    const before = await findOwn(unit, kind, id, caller);
    precondition(before.n);
    const writing: Writing = { id, personId: caller.personId, nowMs: unit.nowMs };
    const changed = kind.change(before.doc, body, writing);
    await checkReferences(unit, kind, { caller, doc: changed, named: body });
    const free = Object.entries(kind.freeText(changed)).filter(([name]) => name in body);
    refusePersonalData(pointed(Object.fromEntries(free)));
    const row = { n: before.n + 1, doc: await keepHiddenLinks(unit, kind, { caller, before: before.doc, changed }) };
    await unit.put(kind.name, row, before);
    await unit.record(deed(kind.name, 'update', id, { caller, requestId }), { kind: kind.name, doc: row.doc });
    return row;
  });
}

/** @throws AppError NOT_FOUND, then what `precondition` throws for the row's `n`. */
export async function removeResource<D extends Doc, New, Change>(
  { writes }: ManagePorts,
  kind: Kind<D, New, Change>,
  { caller, requestId, id, precondition }: Asker & { readonly id: string; readonly precondition: (n: number) => void },
): Promise<void> {
  await writes.run(caller.orgId, async (unit) => {
    const row = await findOwn(unit, kind, id, caller);
    precondition(row.n);
    if (kind.name === 'control') await unlinkControl(unit, id);
    await unit.remove(kind.name, row);
    await unit.record(deed(kind.name, 'delete', id, { caller, requestId }), { kind: kind.name, doc: row.doc });
  });
}

/** The row, as a document of the kind. @throws AppError NOT_FOUND, also for a row the caller may not see. */
export async function findOwn<D extends Doc, New, Change>(
  unit: WriteUnit,
  kind: Kind<D, New, Change>,
  id: string,
  caller: RiskCaller,
): Promise<Row<D>> {
  const row = await unit.find(kind.name, id, rowScopeOf(caller));
  if (row === undefined) throw noSuchRow();
  // A row is stored under the kind that its document is of.
  return row as Row<D>;
}

export function deed(resource: string, verb: string, resourceId: string, { caller, requestId }: Asker) {
  return { actorId: caller.personId, action: `${resource}.${verb}`, resource, resourceId, requestId };
}

const pointed = (fields: Readonly<Record<string, string | null>>) =>
  Object.fromEntries(Object.entries(fields).map(([name, text]) => [`/${name}`, text]));

interface Referring<D> {
  readonly caller: RiskCaller;
  readonly doc: D;
  /** The members that the request names: what it does not name was checked when it was written. */
  readonly named: object;
}

/** Owner, links and framework references name what is there and what the caller may see. */
async function checkReferences<D extends Doc, New, Change>(
  unit: WriteUnit,
  kind: Kind<D, New, Change>,
  { caller, doc, named }: Referring<D>,
): Promise<void> {
  const faults: Fault[] = [];
  const members = doc as Doc & Partial<FilteredDoc & Control>; // Which of them there are is looked at below.
  if ('ownerId' in named && members.ownerId !== undefined && !(await unit.isMember(members.ownerId)))
    faults.push({ in: 'body', pointer: '/ownerId', detail: 'names nobody of the organisation' });
  for (const [member, linked] of Object.entries(kind.links)) {
    if (!(member in named)) continue;
    const ids = idsOf(doc, member);
    const seen = await unit.seen(linked, ids, rowScopeOf(caller));
    ids.forEach((id, index) => {
      if (!seen.has(id)) faults.push({ in: 'body', pointer: `/${member}/${index}`, detail: `names no ${linked}` });
    });
  }
  if ('frameworkRefs' in named) {
    const coverage = await unit.coverageIds(members.frameworkRefs ?? []);
    coverage.forEach((id, index) => {
      if (id === undefined)
        faults.push({ in: 'body', pointer: `/frameworkRefs/${index}`, detail: 'names no requirement' });
    });
  }
  if (faults.length > 0) throw new AppError('INVALID_REQUEST', 'The request refers to what is not there.', { faults });
}

/** Links the caller cannot see were not shown, so a list that leaves them out does not mean to remove them. */
async function keepHiddenLinks<D extends Doc, New, Change>(
  unit: WriteUnit,
  kind: Kind<D, New, Change>,
  { caller, before, changed }: { readonly caller: RiskCaller; readonly before: D; readonly changed: D },
): Promise<D> {
  let doc = changed;
  for (const [member, linked] of Object.entries(kind.links)) {
    const gone = idsOf(before, member).filter((id) => !idsOf(changed, member).includes(id));
    const seen = await unit.seen(linked, gone, rowScopeOf(caller));
    const hidden = gone.filter((id) => !seen.has(id));
    if (hidden.length > 0) doc = { ...doc, [member]: [...idsOf(doc, member), ...hidden] };
  }
  return doc;
}

/** Partners are shown which controls a row names, so a control that goes is taken out of all of them. */
async function unlinkControl(unit: WriteUnit, controlId: string): Promise<void> {
  const linking = (kind: KindName) => unit.withFacet(kind, `link:${controlId}`);
  for (const kind of ['risk', 'evidence', 'asset'] as const) {
    // One batch after the other: a row that was written no longer carries the link.
    for (let rows = await linking(kind); rows.length > 0; rows = await linking(kind)) {
      for (const row of rows) {
        const controlIds = idsOf(row.doc, 'controlIds').filter((id) => id !== controlId);
        const doc = { ...row.doc, controlIds, updatedAt: timeText(unit.nowMs) };
        await unit.put(kind, { n: row.n + 1, doc }, row);
      }
    }
  }
}

/** A member that `links` names is a list of ids, or one id or null. */
export function idsOf(doc: Doc, member: string): readonly string[] {
  const value = (doc as unknown as Record<string, readonly string[] | string | null>)[member] ?? [];
  return typeof value === 'string' ? [value] : value;
}
