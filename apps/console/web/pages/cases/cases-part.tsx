import { lazy, type ReactNode } from 'react';
import { Group, Stack } from '@mantine/core';
import { Navigate, Outlet, Route, Routes } from 'react-router';
import { NoSuchPage } from '../../shell/routes.tsx';
import { PartTabs } from '../part-tabs.tsx';
import { CasePage } from './case-page.tsx';
import { CASE_PAGES } from './case-pages.ts';
import { DecisionsPage } from './decisions-page.tsx';
import { EnvironmentSwitch, InEnvironment, useEnvironment } from './environment.tsx';
import { GateKeysPage } from './gate-keys-page.tsx';
import { NewCasePage } from './new-case-page.tsx';
import { PoliciesPage } from './policies-page.tsx';
import { PolicyPage } from './policy-page.tsx';
import { QueuePage } from './queue-page.tsx';
import { SubjectPage } from './subject-page.tsx';
import { SubjectsPage } from './subjects-page.tsx';
import * as texts from './texts.ts';
import { VenuesPage } from './venues-page.tsx';

const PackPage = lazy(async () => ({ default: (await import('./pack-page.tsx')).PackPage }));

/** Cases, subjects, venues and decisions of the gate; the URL of each page has the environment. */
export const CasesPart = (): ReactNode => (
  <Routes>
    <Route index element={<Navigate to="/cases/live" replace />} />
    <Route
      path=":env"
      element={
        <InEnvironment>
          <Frame />
        </InEnvironment>
      }
    >
      <Route index element={<FirstPage />} />
      <Route path="queue" element={<QueuePage />} />
      <Route path="queue/new" element={<NewCasePage />} />
      <Route path="queue/:id" element={<CasePage />} />
      <Route path="queue/:id/pack" element={<PackPage />} />
      <Route path="subjects" element={<SubjectsPage />} />
      <Route path="subjects/:ref" element={<SubjectPage />} />
      <Route path="venues" element={<VenuesPage />} />
      <Route path="policies" element={<PoliciesPage />} />
      <Route path="policies/:version" element={<PolicyPage />} />
      <Route path="decisions" element={<DecisionsPage />} />
      <Route path="gate-keys" element={<GateKeysPage />} />
      <Route path="*" element={<NoSuchPage />} />
    </Route>
  </Routes>
);

/** The first page that is theirs. */
function FirstPage(): ReactNode {
  const { may, to } = useEnvironment();
  return <Navigate to={to(CASE_PAGES.find(({ needs }) => may(needs))?.path ?? 'queue')} replace />;
}

function Frame(): ReactNode {
  const { may, to } = useEnvironment();
  const offered = CASE_PAGES.filter(({ needs }) => may(needs));
  return (
    <Stack gap="lg">
      <Group justify="space-between" align="flex-end" gap="sm">
        <PartTabs label={texts.pagesOfCases} tabs={offered.map(({ path, title }) => ({ to: to(path), title }))} />
        <EnvironmentSwitch />
      </Group>
      <Outlet />
    </Stack>
  );
}
