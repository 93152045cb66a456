import { api } from '../../shell/api.ts';

interface Named {
  readonly id: string;
  readonly name: string;
}

/** The networks by name, as far as one page has them. */
export function useNetworks(): readonly Named[] {
  const { data } = api.useQuery(
    'get',
    '/admin/ingest-gateway/admin/v1/networks',
    { params: { query: { limit: 200, sort: 'name' } } },
    { staleTime: 60_000 },
  );
  return (data?.items ?? []).map(({ networkId, name }) => ({ id: networkId, name: name ?? networkId }));
}

/** What to show for the id of a network: its name, or the id where none is known. */
export function useNetworkName(): (networkId: string) => string {
  const networks = useNetworks();
  return (networkId) => networks.find(({ id }) => id === networkId)?.name ?? networkId;
}

/** The sources of a network by name; none without a network. */
export function useSources(networkId: string | undefined): readonly Named[] {
  const { data } = api.useQuery(
    'get',
    '/admin/ingest-gateway/admin/v1/networks/{networkId}/sources',
    { params: { path: { networkId: networkId ?? '' }, query: { limit: 200, sort: 'name' } } },
    { enabled: networkId !== undefined, staleTime: 60_000 },
  );
  return (data?.items ?? []).map(({ sourceId, name }) => ({ id: sourceId, name }));
}
