import { lazy, type ReactNode } from 'react';
import { Route, Routes } from 'react-router';
import { NoSuchPage } from '../../shell/routes.tsx';
import { NetworkList } from './network-list.tsx';

const NetworkPage = lazy(async () => ({ default: (await import('./network-page.tsx')).NetworkPage }));

/** Networks of the ingest gateway with keys, limits and webhook sources. */
export const NetworksPart = (): ReactNode => (
  <Routes>
    <Route index element={<NetworkList />} />
    <Route path=":networkId" element={<NetworkPage />} />
    <Route path="*" element={<NoSuchPage />} />
  </Routes>
);
