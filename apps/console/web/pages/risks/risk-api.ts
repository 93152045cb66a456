import { riskPartner, type Schemas } from '@sealgate/client';
import { consoleFetch, dataOf } from '../../shell/console-fetch.ts';
import type { ExportOf } from '../../shell/export-menu.tsx';
import { problemFrom } from '../../shell/problem.ts';
import { totalOf, type Total } from '../../shell/total.ts';

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

export type RiskClient = ReturnType<typeof riskClient>;

/** The client of the risk partner's public listener, in one organisation; undefined: the person's only one. */
export const riskClient = (orgId: string | undefined) =>
  riskPartner({
    baseUrl: '/api/risk-partner',
    fetch: consoleFetch,
    retry: false,
    ...(orgId !== undefined && { headers: { 'X-Organization': orgId } }),
  });

interface Found<Item> {
  readonly items: readonly Item[];
  readonly nextCursor: string | null;
  readonly total: Total | undefined;
}

/** The five collections have the same routes, so one path represents all; the caller gives the type. */
const collection = (kind: Kind) => `/api/${kind}` as '/api/risks';
const member = (kind: Kind) => `/api/${kind}/{id}` as '/api/risks/{id}';

/** One page; undefined filters are omitted. Throws ProblemError. */
export async function listRecords<K extends Kind>(
  client: RiskClient,
  kind: K,
  query: Readonly<Record<string, string | undefined>>,
): Promise<Found<Views[K]>> {
  const set = Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined && value !== ''));
  const { data, error, response } = await client.GET(collection(kind), { params: { query: set } });
  if (data === undefined) throw problemFrom(response, error, Date.now());
  return foundIn(data as unknown as Views[K][], response);
}

/** A page of a bare array: its next cursor and its total are in headers. */
export const foundIn = <Item>(items: readonly Item[], response: Response): Found<Item> => ({
  items,
  nextCursor: cursorOf(response),
  total: totalOf(response),
});

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

/** The cursor of `Link: <...?cursor=...>; rel="next"`. */
function cursorOf(response: Response): string | null {
  const next = /<([^>]*)>;\s*rel="next"/.exec(response.headers.get('Link') ?? '')?.[1];
  return next === undefined ? null : new URL(next, 'http://console').searchParams.get('cursor');
}

/** A record, and its value for If-Match. */
export interface Versioned<K extends Kind> {
  readonly record: Views[K];
  readonly etag: string;
}

const versioned = <K extends Kind>(data: unknown, response: Response): Versioned<K> => ({
  record: data as Views[K],
  etag: response.headers.get('ETag') ?? '',
});

export async function readRecord<K extends Kind>(client: RiskClient, kind: K, id: string): Promise<Versioned<K>> {
  const { data, error, response } = await client.GET(member(kind), { params: { path: { id } } });
  if (data === undefined) throw problemFrom(response, error, Date.now());
  return versioned<K>(data, response);
}

export async function createRecord<K extends Kind>(client: RiskClient, kind: K, draft: Draft): Promise<Views[K]> {
  const body = draft as unknown as RiskSchemas['NewRisk'];
  return (await dataOf(client.POST(collection(kind), { body }))) as unknown as Views[K];
}

/** Sends the changes made to the version that was read. Throws ProblemError, 412 if there is a newer one. */
export async function changeRecord<K extends Kind>(
  client: RiskClient,
  kind: K,
  { id, etag, changes }: { readonly id: string; readonly etag: string; readonly changes: Draft },
): Promise<Versioned<K>> {
  const { data, error, response } = await client.PATCH(member(kind), {
    params: { path: { id }, header: { 'If-Match': etag } },
    body: changes,
  });
  if (data === undefined) throw problemFrom(response, error, Date.now());
  return versioned<K>(data, response);
}

export async function removeRecord(
  client: RiskClient,
  kind: Kind,
  { id, etag }: { readonly id: string; readonly etag: string },
): Promise<void> {
  await dataOf(client.DELETE(member(kind), { params: { path: { id }, header: { 'If-Match': etag } } }));
}

/** All matching rows of a list, reading at most `most` rows. */
export async function sift<K extends Kind>(
  client: RiskClient,
  kind: K,
  { fits, most }: { readonly fits: (row: Views[K]) => boolean; readonly most: number },
): Promise<{ readonly rows: readonly Views[K][]; readonly isWhole: boolean }> {
  const rows: Views[K][] = [];
  let cursor: string | undefined;
  for (let read = 0; read < most;) {
    const page = await listRecords(client, kind, { limit: '200', cursor });
    read += page.items.length;
    rows.push(...page.items.filter(fits));
    if (page.nextCursor === null) return { rows, isWhole: true };
    cursor = page.nextCursor;
  }
  return { rows, isWhole: false };
}
