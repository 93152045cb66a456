import { lazy, type ReactNode } from 'react';
import { Group, Stack } from '@mantine/core';
import { Navigate, Outlet, Route, Routes, useSearchParams } from 'react-router';
import { useMayAdmin } from '../../shell/mine.ts';
import { NoSuchPage } from '../../shell/routes.tsx';
import { PartTabs } from '../part-tabs.tsx';
import { AuditTrailPage } from './audit-trail-page.tsx';
import { useReadableLedgers } from './by-surface.tsx';
import * as texts from './texts.ts';

const SecretsPage = lazy(async () => ({ default: (await import('./secrets-page.tsx')).SecretsPage }));
const ArchivePage = lazy(async () => ({ default: (await import('./archive-page.tsx')).ArchivePage }));
const LossesPage = lazy(async () => ({ default: (await import('./losses-page.tsx')).LossesPage }));
const SubscriptionsPage = lazy(async () => ({
  default: (await import('./subscriptions-page.tsx')).SubscriptionsPage,
}));
const WitnessesPage = lazy(async () => ({ default: (await import('./witnesses-page.tsx')).WitnessesPage }));

const PAGES = [
  { path: 'audit', title: texts.audit, needs: 'nothing' },
  { path: 'secrets', title: texts.secrets, needs: 'nothing' },
  { path: 'archive', title: texts.archive, needs: 'ledger' },
  { path: 'losses', title: texts.losses, needs: 'ledger' },
  { path: 'witnesses', title: texts.witnesses, needs: 'ledger' },
  { path: 'subscriptions', title: texts.subscriptions, needs: 'peer' },
] as const;

/** What operators watch over: audit trails, secrets, the upkeep of the ledger, and who is sent its events. */
export const OperationsPart = (): ReactNode => (
  <Routes>
    <Route element={<Frame />}>
      <Route index element={<Navigate to="/operations/audit" replace />} />
      <Route path="audit" element={<AuditTrailPage />} />
      <Route path="secrets" element={<SecretsPage />} />
      <Route path="archive" element={<ArchivePage />} />
      <Route path="losses" element={<LossesPage />} />
      <Route path="witnesses" element={<WitnessesPage />} />
      <Route path="subscriptions" element={<SubscriptionsPage />} />
      <Route path="*" element={<NoSuchPage />} />
    </Route>
  </Routes>
);

function Frame(): ReactNode {
  const may = {
    nothing: true,
    ledger: useReadableLedgers().length > 0,
    peer: useMayAdmin('ledger-peer', 'admin:change'),
  };
  const [search] = useSearchParams();
  const by = search.get('by');
  const kept = by === null ? '' : `?${new URLSearchParams({ by })}`;
  const offered = PAGES.filter(({ needs }) => may[needs]);
  return (
    <Stack gap="lg">
      <Group>
        <PartTabs
          label={texts.pagesOfOperations}
          tabs={offered.map(({ path, title }) => ({ to: `/operations/${path}${kept}`, title }))}
        />
      </Group>
      <Outlet />
    </Stack>
  );
}
