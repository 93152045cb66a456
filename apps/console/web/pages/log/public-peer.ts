import { api } from '../../shell/api.ts';
import { useSession } from '../../shell/session.ts';
import { publishes } from '../prove/take-keys.ts';

/** A public log: its checkpoints and growth. It fails with 401 or 404 for others. */
export function usePublicLog(channel: string) {
  const session = useSession().data;
  return api.useQuery(
    'get',
    '/api/ledger-peer/ledger/{channel}/overview',
    { params: { path: { channel } } },
    { enabled: publishes(session, 'ledger-peer'), refetchInterval: 30_000 },
  );
}

/** The names of the public logs; undefined while they are not known, or where none can be. */
export function usePublicLogs() {
  const session = useSession().data;
  return api.useQuery(
    'get',
    '/api/ledger-peer/ledger',
    {},
    {
      enabled: publishes(session, 'ledger-peer'),
      staleTime: 60_000,
      select: ({ logs }) => logs.map(({ channel }) => channel),
    },
  );
}

export const logPath = (channel: string, leafHash?: string): string =>
  `/log/${encodeURIComponent(channel)}${leafHash === undefined ? '' : `?leafHash=${leafHash}`}`;
