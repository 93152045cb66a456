import { AppError } from '@sealgate/errors';
import { routeFor, type Route } from '@sealgate/http';
import type { TObject } from '@sinclair/typebox';
import { AssetChange, assetKind, AssetView, NewAsset } from '../domain/asset.ts';
import { rowScopeOf, type RiskCaller } from '../domain/caller.ts';
import { ControlChange, controlKind, ControlView, NewControl } from '../domain/control.ts';
import { EvidenceChange, evidenceKind, EvidenceView, NewEvidence, Transition } from '../domain/evidence.ts';
import {
  changeResource,
  createResource,
  noSuchRow,
  removeResource,
  transitionEvidence,
  type ManagePorts,
} from '../domain/manage-resources.ts';
import { PolicyChange, policyKind, PolicyView, NewPolicy } from '../domain/policy.ts';
import type { Doc, Kind, KindName } from '../domain/resource.ts';
import type { ResourceReads, Row } from '../domain/resource-ports.ts';
import { RiskChange, riskKind, RiskView, NewRisk } from '../domain/risk.ts';
import { viewOf } from '../domain/view-resource.ts';
import { ofId } from '../schemas.ts';
import { rowListRoutes, type RowListPorts } from './row-lists.ts';

const route = routeFor<RiskCaller>();

export const BODY_MAX_BYTES = 262_144;

export interface DashboardPorts extends RowListPorts {
  readonly reads: ResourceReads;
  readonly manage: ManagePorts;
}

/** The parameters of the routes of one kind. */
interface Resource<D extends Doc, New extends TObject, Change extends TObject> {
  readonly kind: Kind<D, New['static'], Change['static']>;
  readonly body: New;
  readonly change: Change;
  readonly view: TObject;
  /** The permission of the list, if it differs from that of a single record. */
  readonly listPermit?: string | undefined;
}

/** The paths of the dashboard. They may change; integrations use `/api/v1`. */
export function dashboardRoutes(ports: DashboardPorts): Route<RiskCaller>[] {
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

const base = { charge: 1, idempotency: 'none' } as const;
const CHANGED = ['INVALID_REQUEST', 'PERSONAL_DATA_REFUSED'] as const;
const CONDITIONAL = ['PRECONDITION_REQUIRED', 'PRECONDITION_FAILED', 'NOT_FOUND'] as const;
/** Kinds with states that refuse changes. */
const HAS_STATES: readonly KindName[] = ['risk', 'evidence'];
const etag = { ETag: 'The value for If-Match.' };

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
    responses: { 204: { description: 'Deleted.' } },
    errors: CONDITIONAL,
    async handler(context) {
      const { caller, requestId, params } = context;
      const precondition = (n: number) => checkIfMatch(context.header('if-match'), n);
      await removeResource(ports.manage, kind, { caller, requestId, id: idOf(params), precondition });
      return { status: 204 };
    },
  });
  return [...rowListRoutes(resource, ports), create, get, change, remove];
}

/** Paths ending in `/:id` have this parameter. */
const idOf = (params: unknown): string => (params as { readonly id: string }).id;

function transitionRoute({ reads, manage, now }: DashboardPorts): Route<RiskCaller> {
  return route({
    ...base,
    tags: ['dashboard'],
    method: 'post',
    path: '/api/evidence/:id/transitions',
    permit: 'evidence:update',
    operationId: 'dashboard_transition_evidence',
    summary: 'Change the state of evidence',
    params: ofId,
    body: Transition,
    bodyMaxBytes: BODY_MAX_BYTES,
    requestHeaders: { 'If-Match': 'The version that was reviewed: 412 if it has changed since.' },
    responses: {
      200: {
        description: 'The record, or the new one that will replace it.',
        schema: EvidenceView,
        headers: etag,
      },
    },
    errors: [...CHANGED, 'NOT_FOUND', 'PRECONDITION_FAILED', 'FORBIDDEN', 'INVALID_STATE_TRANSITION'],
    async handler(context) {
      const { caller, requestId, params, body: transition } = context;
      const precondition = (n: number) => checkIfMatchWhereSent(context.header('if-match'), n);
      const order = { caller, requestId, id: params.id, transition, precondition };
      const { anchoredAs, ...row } = await transitionEvidence(manage, order);
      if (anchoredAs !== undefined) context.note({ ledgerRecordId: anchoredAs });
      const view = await viewOf(reads, evidenceKind, { caller, row, nowMs: now() });
      return { status: 200, body: view, headers: { ETag: `"${row.n}"` } };
    },
  });
}

/**
 * Checks If-Match against the version of a row. Comparison is strong (RFC 9110, section 13.1.1), so a weak tag never
 * matches.
 * @throws AppError PRECONDITION_REQUIRED without it, PRECONDITION_FAILED if the row has another version.
 */
function checkIfMatch(header: string | undefined, n: number): void {
  if (header === undefined)
    throw new AppError('PRECONDITION_REQUIRED', 'Send the ETag of the record that you changed as If-Match.');
  checkIfMatchWhereSent(header, n);
}

/** The same for an optional If-Match. @throws AppError PRECONDITION_FAILED. */
function checkIfMatchWhereSent(header: string | undefined, n: number): void {
  if (header === undefined) return;
  const matches = header.split(',').some((one) => one.trim() === '*' || one.trim() === `"${n}"`);
  if (!matches) throw new AppError('PRECONDITION_FAILED', 'The record has changed since; read it again.');
}
