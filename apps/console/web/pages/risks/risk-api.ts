import type { Schemas } from '@sealgate/client';
import { queryOptions } from '@tanstack/react-query';
import { listed, server } from '../../shell/api.ts';
import type { PageAt, PageQuery } from '../../shell/cursor-table.tsx';
import type { ExportOf } from '../../shell/export-menu.tsx';

export type Person = RiskSchemas['Member'];

export type RiskSchemas = Schemas['riskPartner'];

/** The types of dashboard records, by collection. */
export interface Views {
  readonly risks: RiskSchemas['RiskView'];
  readonly evidence: RiskSchemas['EvidenceView'];
  readonly controls: RiskSchemas['ControlView'];
  readonly assets: RiskSchemas['AssetView'];
  readonly policies: RiskSchemas['PolicyView'];
}
export type Kind = keyof Views;

/** A record in a form: members by name. */
export type Draft = Readonly<Record<string, unknown>>;

/** Of which organisation a call of the risk partner is. */
export interface InOrganization {
  readonly headers: { readonly 'X-Organization': string };
}

export const inOrganization = (orgId: string): InOrganization => ({ headers: { 'X-Organization': orgId } });

/** All routes of the risk partner: what is read of them is fetched again after a change. */
export const RISKS = '/api/risk-partner/';

/** The five collections have the same routes, so one path represents all; the caller gives the type. */
export const collection = (kind: Kind) => `/api/risk-partner/api/${kind}` as '/api/risk-partner/api/risks';
const member = (kind: Kind) => `/api/risk-partner/api/${kind}/{id}` as '/api/risk-partner/api/risks/{id}';

/** The pages of a collection; undefined filters are omitted. */
export const recordPages = <K extends Kind>(
  inOrg: InOrganization,
  kind: K,
  query: Readonly<Record<string, string | number | undefined>>,
) => listed(collection(kind), { ...inOrg, query }) as unknown as (at: PageAt) => PageQuery<Views[K]>;

/** The export of a collection of an organisation. */
export const exportOf = (
  orgId: string,
  collection: Kind | 'audit' | 'people',
  query: ExportOf['query'] = {},
): ExportOf => ({
  path: `/api/risk-partner/api/${collection}/export`,
  query,
  headers: { 'X-Organization': orgId },
  name: collection,
});

/** A record, and its value for If-Match. */
export interface Versioned<K extends Kind> {
  readonly record: Views[K];
  readonly etag: string;
}

const versioned = <K extends Kind>(data: unknown, response: Response): Versioned<K> => ({
  record: data as Views[K],
  etag: response.headers.get('ETag') ?? '',
});

/** Throws ProblemError, as all below. */
export async function readRecord<K extends Kind>(
  inOrg: InOrganization,
  kind: K,
  id: string,
  signal?: AbortSignal,
): Promise<Versioned<K>> {
  const { data, response } = await server.GET(member(kind), {
    ...inOrg,
    params: { path: { id } },
    ...(signal && { signal }),
  });
  return versioned<K>(data, response);
}

/** A record with its version, as it is cached. */
export const recordQuery = <K extends Kind>(inOrg: InOrganization, kind: K, id: string) =>
  queryOptions({
    queryKey: ['get', member(kind), { ...inOrg, params: { path: { id } } }, 'version'],
    queryFn: ({ signal }) => readRecord(inOrg, kind, id, signal),
  });

/** Sends the changes made to the version that was read; 412 if there is a newer one. */
export async function changeRecord<K extends Kind>(
  inOrg: InOrganization,
  kind: K,
  { id, etag, changes }: { readonly id: string; readonly etag: string; readonly changes: Draft },
): Promise<Versioned<K>> {
  const { data, response } = await server.PATCH(member(kind), {
    ...inOrg,
    params: { path: { id }, header: { 'If-Match': etag } },
    body: changes,
  });
  return versioned<K>(data, response);
}

export const removeRecord = (
  inOrg: InOrganization,
  kind: Kind,
  { id, etag }: { readonly id: string; readonly etag: string },
): Promise<unknown> =>
  server.DELETE(member(kind), { ...inOrg, params: { path: { id }, header: { 'If-Match': etag } } });

/** All matching rows of a collection, reading at most `most` rows. */
export async function sift<K extends Kind>(
  pages: (at: PageAt) => PageQuery<Views[K]>,
  { fits, most, signal }: { readonly fits: (row: Views[K]) => boolean; readonly most: number; signal: AbortSignal },
): Promise<{ readonly rows: readonly Views[K][]; readonly isWhole: boolean }> {
  const rows: Views[K][] = [];
  let at: PageAt = {};
  for (let read = 0; read < most;) {
    const page = await pages(at).queryFn({ signal });
    read += page.items.length;
    rows.push(...page.items.filter(fits));
    if (page.nextCursor == null) return { rows, isWhole: true };
    at = { cursor: page.nextCursor };
  }
  return { rows, isWhole: false };
}
