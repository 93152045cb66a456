import { listQuery, routeFor, type Route } from '@sealgate/http';
import { parseLimit } from '@sealgate/paging';
import type { TObject, TProperties, TSchema } from '@sinclair/typebox';
import { Type } from '@sinclair/typebox';
import { assetKind } from '../domain/asset.ts';
import { rowScopeOf, type RiskCaller } from '../domain/caller.ts';
import { controlKind } from '../domain/control.ts';
import { evidenceKind } from '../domain/evidence.ts';
import {
  changeResource,
  createResource,
  noSuchRow,
  removeResource,
  type ManagePorts,
} from '../domain/manage-resources.ts';
import { policyKind } from '../domain/policy.ts';
import type { Cursors } from '../domain/read-partner.ts';
import type { Doc, Kind, KindName } from '../domain/resource.ts';
import type { ResourceReads, Row } from '../domain/resource-ports.ts';
import { riskKind } from '../domain/risk.ts';
import { transitionEvidence } from '../domain/transition-evidence.ts';
import { viewOf, viewsOf } from '../domain/view-resource.ts';
import { IdText, ofId } from '../schemas.ts';
import * as schemas from './dashboard-schemas.ts';
import { nextLink } from './next-link.ts';
import { CATALOGUE } from './partner-schemas.ts';
import { checkIfMatch, checkIfMatchWhereSent } from './precondition.ts';

const route = routeFor<RiskCaller>();

export const BODY_MAX_BYTES = 262_144;
const LIST_RANGE = { default: 50, max: 200 } as const;

export interface DashboardPorts {
  readonly reads: ResourceReads;
  readonly manage: ManagePorts;
  readonly cursors: Cursors;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** What the routes of one kind are made from. */
interface Resource<D extends Doc, New extends TObject, Change extends TObject> {
  readonly kind: Kind<D, New['static'], Change['static']>;
  readonly body: New;
  readonly change: Change;
  readonly view: TSchema;
  /** What the list needs, where that is not what a single record needs. */
  readonly listPermit?: string;
}

/** The dashboard's own paths. They may change: integrations use `/api/v1`. */
export function dashboardRoutes(ports: DashboardPorts): Route<RiskCaller>[] {
  const { NewRisk, RiskChange, RiskView, NewEvidence, EvidenceChange, EvidenceView } = schemas;
  const { NewControl, ControlChange, ControlView, NewAsset, AssetChange, AssetView } = schemas;
  const { NewPolicy, PolicyChange, PolicyView } = schemas;
  const listPermit = 'policyMetadata:read';
  return [
    ...resourceRoutes({ kind: riskKind, body: NewRisk, change: RiskChange, view: RiskView }, ports),
    ...resourceRoutes({ kind: evidenceKind, body: NewEvidence, change: EvidenceChange, view: EvidenceView }, ports),
    transitionRoute(ports),
    ...resourceRoutes({ kind: controlKind, body: NewControl, change: ControlChange, view: ControlView }, ports),
    ...resourceRoutes({ kind: assetKind, body: NewAsset, change: AssetChange, view: AssetView }, ports),
    ...resourceRoutes({ kind: policyKind, body: NewPolicy, change: PolicyChange, view: PolicyView, listPermit }, ports),
  ];
}

/** Those of the partner lists; of kinds whose rows have an owner that one, too. */
function filtersOf({
  collection,
  rowFiltered,
}: Pick<Kind<Doc, never, never>, 'collection' | 'rowFiltered'>): TProperties {
  const { filters = {} } = CATALOGUE.find(({ name }) => name === collection) ?? {};
  if (!rowFiltered) return filters;
  return { ...filters, ownerId: Type.Optional({ ...IdText, description: 'Only rows that this person owns.' }) };
}

const base = { charge: 1, idempotency: 'none' } as const;
const CHANGED = ['INVALID_REQUEST', 'PERSONAL_DATA_REFUSED'] as const;
const CONDITIONAL = ['PRECONDITION_REQUIRED', 'PRECONDITION_FAILED', 'NOT_FOUND'] as const;
/** Kinds of which some states refuse a change. */
const HAS_STATES: readonly KindName[] = ['risk', 'evidence'];
const etag = { ETag: 'The value that If-Match takes.' };

function resourceRoutes<D extends Doc, New extends TObject, Change extends TObject>(
  resource: Resource<D, New, Change>,
  ports: DashboardPorts,
): Route<RiskCaller>[] {
  const { kind, view } = resource;
  const path = `/api/${kind.collection}` as const;
  const tags = ['dashboard'];
  const answer = async (caller: RiskCaller, row: Row<D>) => ({
    body: await viewOf(ports.reads, kind, { caller, row, nowMs: ports.now() }),
    headers: { ETag: `"${row.n}"` },
  });
  const list = route({
    ...base,
    tags,
    method: 'get',
    path,
    permit: resource.listPermit ?? `${kind.name}:read`,
    operationId: `dashboard_list_${kind.collection}`,
    summary: `List ${kind.collection}, oldest first`,
    query: listQuery(LIST_RANGE, filtersOf(kind)),
    responses: {
      200: {
        description: 'A page.',
        schema: Type.Array(view),
        headers: { Link: 'The next page, where there is one.' },
      },
    },
    errors: [],
    async handler({ caller, query }) {
      // The schema of the query holds texts alone.
      const { limit: limitText, cursor: sent, ...filters } = query as Readonly<Record<string, string>>;
      const limit = parseLimit(limitText, LIST_RANGE);
      const asked = Object.entries(filters).flat();
      const binding = [`dashboard.${kind.collection}.v1`, caller.orgId, caller.personId, ...asked];
      // A cursor of this binding was made from such a position, below.
      const from = sent === undefined ? undefined : (ports.cursors.read(binding, sent) as [string, string]);
      const after = from && { createdAt: from[0], id: from[1] };
      const found = await ports.reads.list(kind.name, rowScopeOf(caller), {
        limit: limit + 1,
        after,
        filters,
        nowMs: ports.now(),
      });
      const rows = found.slice(0, limit) as Row<D>[]; // Rows of this kind.
      const last = found.length > limit ? rows.at(-1)?.doc : undefined;
      const cursor = last && ports.cursors.make(binding, [last.createdAt, last.id]);
      const body = await viewsOf(ports.reads, kind, { caller, rows, nowMs: ports.now() });
      return { status: 200, body, ...nextLink(path, { limit: limitText, ...filters }, cursor) };
    },
  });
  const create = route({
    ...base,
    tags,
    method: 'post',
    path,
    permit: `${kind.name}:create`,
    operationId: `dashboard_create_${kind.collection}`,
    summary: `Add to ${kind.collection}`,
    body: resource.body,
    bodyMaxBytes: BODY_MAX_BYTES,
    responses: { 201: { description: 'The record.', schema: view, headers: { ...etag, Location: 'Its path.' } } },
    errors: CHANGED,
    async handler({ caller, requestId, body }) {
      const row = await createResource(ports.manage, kind, { caller, requestId, body });
      const { headers, ...shown } = await answer(caller, row);
      return { status: 201, ...shown, headers: { ...headers, Location: `${path}/${row.doc.id}` } };
    },
  });
  const one = { ...base, tags, path: `${path}/:id`, params: ofId } as const;
  const get = route({
    ...one,
    method: 'get',
    permit: `${kind.name}:read`,
    operationId: `dashboard_get_${kind.collection}`,
    summary: `Read one of the ${kind.collection}`,
    responses: { 200: { description: 'The record.', schema: view, headers: etag } },
    errors: [],
    async handler({ caller, params }) {
      const row = await ports.reads.find(kind.name, idOf(params), rowScopeOf(caller));
      if (row === undefined) throw noSuchRow();
      return { status: 200, ...(await answer(caller, row as Row<D>)) };
    },
  });
  const change = route({
    ...one,
    method: 'patch',
    permit: `${kind.name}:update`,
    operationId: `dashboard_change_${kind.collection}`,
    summary: `Change one of the ${kind.collection}`,
    body: resource.change,
    bodyMaxBytes: BODY_MAX_BYTES,
    responses: { 200: { description: 'The record.', schema: view, headers: etag } },
    errors: [
      ...CHANGED,
      ...CONDITIONAL,
      ...(HAS_STATES.includes(kind.name) ? (['INVALID_STATE_TRANSITION'] as const) : []),
    ],
    async handler(context) {
      const { caller, requestId, params, body } = context;
      const precondition = (n: number) => checkIfMatch(context.header('if-match'), n);
      const row = await changeResource(ports.manage, kind, { caller, requestId, id: idOf(params), body, precondition });
      return { status: 200, ...(await answer(caller, row)) };
    },
  });
  const remove = route({
    ...one,
    method: 'delete',
    permit: `${kind.name}:delete`,
    operationId: `dashboard_delete_${kind.collection}`,
    summary: `Delete one of the ${kind.collection}`,
    responses: { 204: { description: 'Gone.' } },
    errors: CONDITIONAL,
    async handler(context) {
      const { caller, requestId, params } = context;
      const precondition = (n: number) => checkIfMatch(context.header('if-match'), n);
      await removeResource(ports.manage, kind, { caller, requestId, id: idOf(params), precondition });
      return { status: 204 };
    },
  });
  return [list, create, get, change, remove];
}

/** A path that ends in `/:id` has it. */
const idOf = (params: unknown): string => (params as { readonly id: string }).id;

function transitionRoute({ reads, manage, now }: DashboardPorts): Route<RiskCaller> {
  return route({
    ...base,
    tags: ['dashboard'],
    method: 'post',
    path: '/api/evidence/:id/transitions',
    permit: 'evidence:update',
    operationId: 'dashboard_transition_evidence',
    summary: 'Move evidence along its life',
    params: ofId,
    body: schemas.Transition,
    bodyMaxBytes: BODY_MAX_BYTES,
    requestHeaders: { 'If-Match': 'The version that was looked at: 412 when it has been changed since.' },
    responses: {
      200: {
        description: 'The record, or the one that is to take its place.',
        schema: schemas.EvidenceView,
        headers: etag,
      },
    },
    errors: [...CHANGED, 'NOT_FOUND', 'PRECONDITION_FAILED', 'FORBIDDEN', 'INVALID_STATE_TRANSITION'],
    async handler(context) {
      const { caller, requestId, params, body: transition } = context;
      const precondition = (n: number) => checkIfMatchWhereSent(context.header('if-match'), n);
      const row = await transitionEvidence(manage, { caller, requestId, id: params.id, transition, precondition });
      const view = await viewOf(reads, evidenceKind, { caller, row, nowMs: now() });
      return { status: 200, body: view, headers: { ETag: `"${row.n}"` } };
    },
  });
}
