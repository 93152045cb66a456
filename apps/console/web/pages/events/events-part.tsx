import { lazy, type ReactNode } from 'react';
import { Route, Routes } from 'react-router';
import { NoSuchPage } from '../../shell/routes.tsx';
import { EventList } from './event-list.tsx';
import { EventPage } from './event-page.tsx';

const RefusedPage = lazy(async () => ({ default: (await import('./refused-page.tsx')).RefusedPage }));

/** The outcome of each write and ping at the gateway. */
export const EventsPart = (): ReactNode => (
  <Routes>
    <Route index element={<EventList />} />
    <Route path="refused" element={<RefusedPage />} />
    <Route path=":eventId" element={<EventPage />} />
    <Route path="*" element={<NoSuchPage />} />
  </Routes>
);
