import { rowScopeOf, type RiskCaller } from './caller.ts';
import { idsOf } from './manage-resources.ts';
import type { Doc, Kind, KindName } from './resource.ts';
import type { ResourceReads, Row } from './resource-ports.ts';

interface Viewing<D extends Doc> {
  readonly caller: RiskCaller;
  readonly rows: readonly Row<D>[];
  readonly nowMs: number;
}

/** Rows as shown in dashboard lists, without links to hidden rows. */
export async function viewsOf<D extends Doc, New, Change>(
  reads: Pick<ResourceReads, 'visible'>,
  kind: Kind<D, New, Change>,
  viewing: Viewing<D>,
): Promise<object[]> {
  return shown(reads, kind, { ...viewing, inList: true });
}

/** One row as shown on its own, without links to hidden rows. */
export async function viewOf<D extends Doc, New, Change>(
  reads: Pick<ResourceReads, 'visible'>,
  kind: Kind<D, New, Change>,
  { row, ...viewing }: Omit<Viewing<D>, 'rows'> & { readonly row: Row<D> },
): Promise<object> {
  const [view] = await shown(reads, kind, { ...viewing, rows: [row], inList: false });
  return view!;
}

async function shown<D extends Doc, New, Change>(
  reads: Pick<ResourceReads, 'visible'>,
  kind: Kind<D, New, Change>,
  { caller, rows, nowMs, inList }: Viewing<D> & { readonly inList: boolean },
): Promise<object[]> {
  const links = Object.entries(kind.links);
  const visible = new Map<KindName, ReadonlySet<string>>();
  for (const [member, linked] of links) {
    const ids = [...new Set(rows.flatMap(({ doc }) => idsOf(doc, member)))];
    if (ids.length > 0) visible.set(linked, await reads.visible(linked, ids, rowScopeOf(caller)));
  }
  return rows.map(({ doc, ...row }) => ({
    ...kind.view(doc, { ...row, nowMs, inList }),
    ...Object.fromEntries(
      links.map(([member, linked]) => {
        const ids = idsOf(doc, member).filter((id) => visible.get(linked)?.has(id));
        return [member, member.endsWith('Ids') ? ids : (ids[0] ?? null)];
      }),
    ),
  }));
}
