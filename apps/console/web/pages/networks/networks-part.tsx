import { lazy, type ReactNode } from 'react';
import { Route, Routes } from 'react-router';
import { NoSuchPage } from '../../shell/routes.tsx';
import { NetworkList } from './network-list.tsx';

const NetworkPage = lazy(async () => ({ default: (await import('./network-page.tsx')).NetworkPage }));
const DeliveriesPage = lazy(async () => ({ default: (await import('./deliveries-page.tsx')).DeliveriesPage }));
const DeliveryPage = lazy(async () => ({ default: (await import('./delivery-page.tsx')).DeliveryPage }));

/** Networks of the ingest gateway with keys, limits and webhook sources. */
export const NetworksPart = (): ReactNode => (
  <Routes>
    <Route index element={<NetworkList />} />
    <Route path=":networkId" element={<NetworkPage />} />
    <Route path=":networkId/sources/:sourceId/deliveries" element={<DeliveriesPage />} />
    <Route path=":networkId/sources/:sourceId/deliveries/:refusedId" element={<DeliveryPage />} />
    <Route path="*" element={<NoSuchPage />} />
  </Routes>
);
