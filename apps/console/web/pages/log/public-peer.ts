import { ledgerPeer } from '@sealgate/client';
import { useQuery } from '@tanstack/react-query';
import { consoleFetch, dataOf } from '../../shell/console-fetch.ts';
import { useSession } from '../../shell/session.ts';
import { publishes } from '../prove/take-keys.ts';

/** What the ledger peer answers to everybody. */
export const publicPeer = ledgerPeer({ baseUrl: '/api/ledger-peer', fetch: consoleFetch, retry: false });

/** A public log: its checkpoints and growth. It fails with 401 or 404 for others. */
export function usePublicLog(channel: string) {
  const session = useSession().data;
  return useQuery({
    queryKey: ['log', channel],
    queryFn: ({ signal }) =>
      dataOf(publicPeer.GET('/ledger/{channel}/overview', { params: { path: { channel } }, signal })),
    enabled: publishes(session, 'ledger-peer'),
    refetchInterval: 30_000,
  });
}
