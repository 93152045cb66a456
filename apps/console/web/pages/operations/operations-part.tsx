import { lazy, type ReactNode } from 'react';
import { Group, Stack } from '@mantine/core';
import { Navigate, Outlet, Route, Routes, useSearchParams } from 'react-router';
import { NoSuchPage } from '../../shell/routes.tsx';
import { PartTabs } from '../part-tabs.tsx';
import { AuditTrailPage } from './audit-trail-page.tsx';
import { useReadableLedgers } from './by-surface.tsx';

const SecretsPage = lazy(async () => ({ default: (await import('./secrets-page.tsx')).SecretsPage }));
const ArchivePage = lazy(async () => ({ default: (await import('./archive-page.tsx')).ArchivePage }));
const LossesPage = lazy(async () => ({ default: (await import('./losses-page.tsx')).LossesPage }));
const WitnessesPage = lazy(async () => ({ default: (await import('./witnesses-page.tsx')).WitnessesPage }));

const PAGES = [
  { path: 'audit', title: 'Audit', ofLedger: false },
  { path: 'secrets', title: 'Secrets', ofLedger: false },
  { path: 'archive', title: 'Archive', ofLedger: true },
  { path: 'losses', title: 'Losses', ofLedger: true },
  { path: 'witnesses', title: 'Witnesses', ofLedger: true },
];

/** What operators watch over: audit trails, secrets, and the upkeep of the ledger. */
export const OperationsPart = (): ReactNode => (
  <Routes>
    <Route element={<Frame />}>
      <Route index element={<Navigate to="/operations/audit" replace />} />
      <Route path="audit" element={<AuditTrailPage />} />
      <Route path="secrets" element={<SecretsPage />} />
      <Route path="archive" element={<ArchivePage />} />
      <Route path="losses" element={<LossesPage />} />
      <Route path="witnesses" element={<WitnessesPage />} />
      <Route path="*" element={<NoSuchPage />} />
    </Route>
  </Routes>
);

function Frame(): ReactNode {
  const hasLedger = useReadableLedgers().length > 0;
  const [search] = useSearchParams();
  const by = search.get('by');
  const kept = by === null ? '' : `?${new URLSearchParams({ by })}`;
  const offered = PAGES.filter(({ ofLedger }) => !ofLedger || hasLedger);
  return (
    <Stack gap="lg">
      <Group>
        <PartTabs
          label="Pages of Operations"
          tabs={offered.map(({ path, title }) => ({ to: `/operations/${path}${kept}`, title }))}
        />
      </Group>
      <Outlet />
    </Stack>
  );
}
