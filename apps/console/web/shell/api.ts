import { plainClient, type Routes } from '@sealgate/client';
import { useQueryClient } from '@tanstack/react-query';
import createQueries from 'openapi-react-query';
import { consoleFetch } from './console-fetch.ts';
import type { PageAt, PageQuery } from './cursor-table.tsx';
import { problemFrom } from './problem.ts';
import { totalOf } from './total.ts';

type Below<Base extends string, Paths> = { [Path in keyof Paths & string as `${Base}${Path}`]: Paths[Path] };

/** Every route that the console's server has or forwards. */
export type Paths = Routes['consoleServer'] &
  Below<'/api/risk-partner', Routes['riskPartner']> &
  Below<'/api/case-gate', Routes['caseGate']> &
  Below<'/api/ledger-peer', Routes['ledgerPeer']> &
  Below<'/admin/risk-partner', Routes['riskPartnerAdmin']> &
  Below<'/admin/case-gate', Routes['caseGateAdmin']> &
  Below<'/admin/ledger-peer', Routes['ledgerPeerAdmin']> &
  Below<'/admin/ingest-gateway', Routes['ingestGatewayAdmin']>;

/**
 * All routes, through the console's server, which adds the token of the signed-in person; pages never hold a token.
 * A call throws ProblemError unless the status is 2xx. No automatic retry: people see the error and retry themselves.
 */
export const server = plainClient<Paths>({ baseUrl: '', fetch: consoleFetch });
server.use({
  async onResponse({ response }) {
    if (response.ok) return;
    throw problemFrom(response, await response.json().catch(() => undefined), Date.now());
  },
});

/** Cached reads, and changes, of all routes. The key of a read is its method, path and parameters. */
export const api = createQueries(server);

/** Fetches again what is shown of the routes whose paths begin so, after a change. */
export function useReload(): (path: string) => Promise<void> {
  const queries = useQueryClient();
  return (path) =>
    queries.invalidateQueries({
      predicate: ({ queryKey: [, read] }) => typeof read === 'string' && read.startsWith(path),
    });
}

type Get<Path extends keyof Paths> = Paths[Path] extends { get: infer Operation } ? Operation : never;
type ParametersIn<Path extends keyof Paths, Place extends string> =
  Get<Path> extends { parameters: { [In in Place]?: infer Parameters } } ? NonNullable<Parameters> : never;

/** What a read of this path returns. */
export type Answer<Path extends keyof Paths> =
  Get<Path> extends { responses: { 200: { content: { 'application/json': infer Body } } } } ? Body : never;

/** What a change takes. */
export type Body<Path extends keyof Paths, Method extends 'post' | 'put' | 'patch' = 'post'> =
  Paths[Path] extends Record<Method, { requestBody: { content: { 'application/json': infer Sent } } }> ? Sent : never;

type RowOf<Page> = Page extends readonly (infer Row)[]
  ? Row
  : Page extends { readonly items: readonly (infer Row)[] }
    ? Row
    : never;

/** Parameters of a list by name. Their values come from the address of the page: the service refuses what is wrong. */
type Given<Path extends keyof Paths> = {
  readonly [Name in keyof ParametersIn<Path, 'query'>]?: string | number | undefined;
};

interface ListInit<Path extends keyof Paths> {
  readonly path?: ParametersIn<Path, 'path'>;
  readonly query?: Given<Path>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Rows of a page. */
  readonly limit?: number;
}

// NoInfer: a table takes the type of its rows from this, and not the other way round.
type Pages<Row> = NoInfer<(at: PageAt) => PageQuery<Row>>;

/** Only what is given: an empty text is no filter. */
const given = (query: Readonly<Record<string, unknown>>): object =>
  Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined && value !== ''));

/** The pages of a list for `CursorTable`. */
export function listed<Path extends keyof Paths>(
  path: Path,
  { path: place, query = {}, headers, limit = 50 }: ListInit<Path> = {},
): Pages<RowOf<Answer<Path>>> {
  return (at) => {
    const params = { ...(place && { path: place }), query: given({ limit, ...query, ...at }) };
    const init = { params, ...(headers && { headers }) };
    return {
      queryKey: ['get', path, init, 'page'],
      async queryFn({ signal }) {
        const { data: found, response }: { data?: unknown; response: Response } = await server.GET(
          path as never,
          {
            ...init,
            signal,
          } as never,
        );
        return (Array.isArray(found) ? pageOf(found, response) : found) as never;
      },
    };
  };
}

/** Lists of the risk partner are bare arrays: the next cursor and the total are in headers. */
const pageOf = (items: readonly unknown[], response: Response) => ({
  items,
  nextCursor: cursorOf(response),
  total: totalOf(response),
});

/** The cursor of `Link: <...?cursor=...>; rel="next"`. */
function cursorOf(response: Response): string | null {
  const next = /<([^>]*)>;\s*rel="next"/.exec(response.headers.get('Link') ?? '')?.[1];
  return next === undefined ? null : new URL(next, 'http://console').searchParams.get('cursor');
}
