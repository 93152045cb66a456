import type { ReactNode } from 'react';
import { Group, Stack } from '@mantine/core';
import { Navigate, Outlet, Route, Routes } from 'react-router';
import { NoSuchPage } from '../../shell/routes.tsx';
import { PartTabs } from '../part-tabs.tsx';
import { AuditPage } from './audit-page.tsx';
import { CoveragePage } from './coverage-page.tsx';
import { EvidenceBoard } from './evidence-board.tsx';
import { HeatMapPage } from './heat-map-page.tsx';
import { KeysPage } from './keys-page.tsx';
import { ChooseOrganization, InOrganization, OrganizationSwitch, useOrganization } from './organization.tsx';
import { PeoplePage } from './people-page.tsx';
import { AssetsPage, ControlsPage, EvidenceListPage, PoliciesPage, RegisterPage } from './record-lists.tsx';
import { NewRecordPage, RecordPage } from './record-page.tsx';
import type { Kind } from './risk-api.ts';
import { RISK_PAGES } from './risk-pages.ts';
import * as texts from './texts.ts';

/** The risks of an organisation and related records; the URL of each page has the organisation. */
export const RisksPart = (): ReactNode => (
  <Routes>
    <Route index element={<ChooseOrganization />} />
    <Route
      path=":org"
      element={
        <InOrganization>
          <Frame />
        </InOrganization>
      }
    >
      <Route index element={<Navigate to="register" replace />} />
      <Route path="register" element={<RegisterPage />} />
      {records('risks', 'register')}
      <Route path="heat-map" element={<HeatMapPage />} />
      <Route path="controls" element={<ControlsPage />} />
      {records('controls', 'controls')}
      <Route path="evidence" element={<EvidenceBoard />} />
      <Route path="evidence/list" element={<EvidenceListPage />} />
      {records('evidence', 'evidence')}
      <Route path="coverage" element={<CoveragePage />} />
      <Route path="assets" element={<AssetsPage />} />
      {records('assets', 'assets')}
      <Route path="policies" element={<PoliciesPage />} />
      {records('policies', 'policies')}
      <Route path="keys" element={<KeysPage />} />
      <Route path="people" element={<PeoplePage />} />
      <Route path="audit" element={<AuditPage />} />
      <Route path="*" element={<NoSuchPage />} />
    </Route>
  </Routes>
);

/** The pages of one record of a collection. */
const records = (kind: Kind, path: string): ReactNode => [
  <Route key="new" path={`${path}/new`} element={<NewRecordPage kind={kind} />} />,
  <Route key="one" path={`${path}/:id`} element={<RecordPage kind={kind} />} />,
];

function Frame(): ReactNode {
  const { may, to } = useOrganization();
  const offered = RISK_PAGES.filter(({ needs }) => needs.length === 0 || needs.some(may));
  return (
    <Stack gap="lg">
      <Group justify="space-between" align="flex-end" gap="sm">
        <PartTabs label={texts.pagesOfRisks} tabs={offered.map(({ path, title }) => ({ to: to(path), title }))} />
        <OrganizationSwitch />
      </Group>
      <Outlet />
    </Stack>
  );
}
