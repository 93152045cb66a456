import { useEffect, useRef, useState } from 'react';
import type { Schemas } from '@sealgate/client';
import { useQueryClient } from '@tanstack/react-query';
import { api } from './api.ts';
import { SIGNED_OUT } from './console-fetch.ts';

export type SurfaceId = Schemas['consoleServer']['SurfaceId'];
export type Session = Schemas['consoleServer']['Session'];

/** The signed-in person and the configured surfaces. Refetched when the page becomes visible. */
export const useSession = () =>
  api.useQuery('get', '/session', {}, { staleTime: 60_000, refetchOnWindowFocus: 'always' });

/** The public address of a surface if the console knows it, else this placeholder. */
export function usePublicUrl(surface: SurfaceId, placeholder: string): string {
  const { data } = useSession();
  return data?.surfaces.find(({ id }) => id === surface)?.publicUrl ?? placeholder;
}

/** True from the response that reports the end of the session until a refetched session has a person. */
export function useSignedOut(): boolean {
  const session = useSession();
  const queries = useQueryClient();
  const [endedAtMs, setEndedAtMs] = useState(0);
  useEffect(() => {
    const onSignedOut = (): void => {
      setEndedAtMs(Date.now());
      void queries.invalidateQueries({ queryKey: ['get', '/session'] });
    };
    globalThis.addEventListener(SIGNED_OUT, onSignedOut);
    return () => globalThis.removeEventListener(SIGNED_OUT, onSignedOut);
  }, [queries]);
  const signedOut = session.data !== undefined && (session.data.person === null || endedAtMs > session.dataUpdatedAt);
  const before = useRef(signedOut);
  useEffect(() => {
    // Refetch what was refused without a session.
    if (before.current && !signedOut) {
      void queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[1] !== '/session' });
    }
    before.current = signedOut;
  }, [signedOut, queries]);
  return signedOut;
}
