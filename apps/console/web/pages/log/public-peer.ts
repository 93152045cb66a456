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

/** The names of the public logs; undefined while they are not known, or where none can be. */
export function usePublicLogs() {
  const session = useSession().data;
  return useQuery({
    queryKey: ['log'],
    queryFn: async ({ signal }) =>
      (await dataOf(publicPeer.GET('/ledger', { signal }))).logs.map(({ channel }) => channel),
    enabled: publishes(session, 'ledger-peer'),
    staleTime: 60_000,
  });
}

export const logPath = (channel: string, leafHash?: string): string =>
  `/log/${encodeURIComponent(channel)}${leafHash === undefined ? '' : `?leafHash=${leafHash}`}`;
