import {
  columnsOf,
  instantText,
  listQuery,
  routeFor,
  searchParameter,
  sortParameter,
  type Route,
} from '@sealgate/http';
import { sortingOf, sortValues } from '@sealgate/paging';
import { Type, type TObject, type TProperties } from '@sinclair/typebox';
import { rowScopeOf, type RiskCaller } from '../domain/caller.ts';
import { NAMING_FILTERS, requireNamedRows, type Cursors, type PartnerPorts } from '../domain/read-partner.ts';
import type { AnyKind, Doc, Kind, SortField } from '../domain/resource.ts';
import type { Place, ResourceReads, Row, RowsAsked } from '../domain/resource-ports.ts';
import { viewsOf } from '../domain/view-resource.ts';
import { IdText } from '../schemas.ts';
import { barePage, countedPageOf } from './bare-page.ts';
import { exporting, exportQuery, sendExport, type ExportQuery, type RecordExport } from './exports.ts';
import { CATALOGUE } from './partner-schemas.ts';
import { withPersonNames, type PersonNames } from './person-names.ts';

const route = routeFor<RiskCaller>();
const LIST_RANGE = { default: 50, max: 200 } as const;

export interface RowListPorts {
  /** For those who look. */
  readonly lists: ResourceReads;
  readonly cursors: Cursors;
  /** To refuse filters that name no row. */
  readonly partner: Pick<PartnerPorts, 'rows'>;
  readonly recordExport: RecordExport;
  readonly personNames: PersonNames;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

interface RowList<D extends Doc, New, Change> {
  readonly kind: Kind<D, New, Change>;
  readonly view: TObject;
  /** The permission of the list, if it differs from that of a single record. */
  readonly listPermit?: string | undefined;
}

/** The list of a kind, and its export: the same rows in the same order. */
export function rowListRoutes<D extends Doc, New, Change>(
  resource: RowList<D, New, Change>,
  ports: RowListPorts,
): Route<RiskCaller>[] {
  return [listRoute(resource, ports), exportRoute(resource, ports)];
}

function listRoute<D extends Doc, New, Change>(
  { kind, view, listPermit = `${kind.name}:read` }: RowList<D, New, Change>,
  ports: RowListPorts,
): Route<RiskCaller> {
  const path = `/api/${kind.collection}` as const;
  return route({
    method: 'get',
    looks: true,
    charge: 1,
    idempotency: 'none',
    tags: ['dashboard'],
    path,
    permit: listPermit,
    operationId: `dashboard_list_${kind.collection}`,
    summary: `List ${kind.collection}, oldest first unless sorted`,
    query: listQuery(LIST_RANGE, askingOf(kind)),
    responses: countedPageOf(view),
    errors: errorsOf(kind),
    async handler({ caller, query }) {
      const page = barePage(ports.cursors, {
        path,
        binding: [`dashboard.${kind.collection}.v1`, caller.orgId, caller.personId],
        query: query as Readonly<Record<string, string>>, // Its schema declares strings only.
        range: LIST_RANGE,
      });
      const scope = rowScopeOf(caller);
      const from = page.after as [Place['value'], string] | undefined; // As `position` below makes it.
      const after = from && { value: from[0], id: from[1] };
      const asked = askedBy(page.filters, ports.now());
      const { found, counted } = await ports.lists.list(kind.name, scope, { ...asked, limit: page.take, after });
      await requireNamedRows(ports.partner.rows, scope, asked.filters);
      const { rows: shown, next } = page.answer(found, ({ place }) => [place.value, place.id], counted);
      const rows = shown.flatMap(({ row }) => (row === undefined ? [] : [row as Row<D>])); // Rows of this kind.
      const body = await viewsOf(ports.lists, kind, { caller, rows, nowMs: asked.nowMs });
      return { status: 200, body, ...next };
    },
  });
}

function exportRoute<D extends Doc, New, Change>(
  { kind, view }: RowList<D, New, Change>,
  { lists, partner, recordExport, personNames, now }: RowListPorts,
): Route<RiskCaller> {
  const { name, collection } = kind;
  return route({
    ...exporting,
    path: `/api/${collection}/export`,
    permit: `${name}:export`,
    operationId: `dashboard_export_${collection}`,
    summary: `Export ${collection}`,
    query: exportQuery(askingOf(kind)),
    errors: errorsOf(kind),
    async handler(context) {
      const { caller, requestId } = context;
      const { format, ...query } = context.query as ExportQuery; // By its schema.
      const asked = askedBy(query, now());
      const scope = rowScopeOf(caller);
      async function* pages() {
        for await (const rows of lists.pages(name, scope, asked))
          // Rows of this kind.
          yield await viewsOf(lists, kind, { caller, rows: rows as Row<D>[], nowMs: asked.nowMs });
      }
      await sendExport(context, {
        fileName: collection,
        format,
        ...withPersonNames({ columns: columnsFor(view, asked), pages: pages() }, caller, personNames),
        async begin() {
          await requireNamedRows(partner.rows, scope, asked.filters);
          if (context.method === 'GET')
            await recordExport({ caller, requestId }, { resource: name, collection, query: context.query });
        },
      });
    },
  });
}

/** What a list can be asked for besides its pages: the filters of the partner list, of owner and control, `q`, `sort`. */
function askingOf({ name: kind, collection, rowFiltered, sorts, links }: ListedKind): TProperties {
  const { filters = {} } = CATALOGUE.find(({ name }) => name === collection) ?? {};
  const ownerId = Type.Optional({ ...IdText, description: 'Only rows owned by this person.' });
  const worseSince = Type.Optional({
    ...instantText(),
    description:
      'Only risks whose current score is higher than at this time; a change at this time is one since. Risks made since had no score then, so they are not listed. Of a risk the newest 200 changes are known. Each row has what it was as `previous`.',
    examples: ['2026-01-01T00:00:00Z'],
  });
  const controlId = Type.Optional({ ...IdText, description: 'Only rows that name this control.' });
  return {
    ...(links.controlIds !== undefined && { controlId }),
    ...filters,
    ...(kind === 'risk' && { worseSince }),
    ...(rowFiltered && { ownerId }),
    q: searchParameter,
    sort: sortParameter(sortValues(sorts), {
      name: `${kind.charAt(0).toUpperCase()}${kind.slice(1)}Sort`,
      byDefault: 'createdAt',
    }),
  };
}

type ListedKind = Pick<AnyKind, 'name' | 'collection' | 'rowFiltered' | 'sorts' | 'links'>;

const errorsOf = (kind: ListedKind) =>
  NAMING_FILTERS.some((name) => name in askingOf(kind)) ? (['NOT_FOUND'] as const) : [];

/** What the rows were is in the columns only where it is asked for. */
const columnsFor = (view: TObject, { filters: { worseSince } }: RowsAsked): string[] =>
  columnsOf(inLists(view)).filter((column) => worseSince !== undefined || !column.startsWith('previous.'));

/** What a valid query asks for; without `sort`, the oldest first. */
function askedBy(query: Readonly<Record<string, string>>, nowMs: number): RowsAsked {
  const { q, sort = 'createdAt', ...filters } = query;
  return { filters, q, sorting: sortingOf(sort as SortField | `-${SortField}`), nowMs };
}

/** Lists leave out the text of policies. */
const inLists = (view: TObject): TObject => Type.Omit(view, ['body']);
