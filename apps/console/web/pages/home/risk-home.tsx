import { useState, type ReactNode } from 'react';
import { SegmentedControl, SimpleGrid, Stack } from '@mantine/core';
import { Page } from '../../shell/page.tsx';
import { useCountedIntro, useOrganization } from '../risks/organization.tsx';
import { AuditorHome } from './auditor-home.tsx';
import { ContributorHome } from './contributor-home.tsx';
import { Figures } from './figures.tsx';
import {
  AcceptanceList,
  CoverageByFramework,
  FirstEvidence,
  RiskList,
  RisksOverTime,
  useEvidenceStates,
  useTrends,
  useWorseRisks,
  WorseList,
} from './home-cards.tsx';
import * as texts from './texts.ts';

const LEADS = ['owner', 'admin', 'risk_manager'];

/** The start page of a member of an organisation, by the strongest of the roles. */
export function RiskHome(): ReactNode {
  const { me } = useOrganization();
  const has = (...roles: string[]) => me.roles.some((role) => roles.includes(role));
  if (has(...LEADS)) return <LeadHome />;
  if (has('auditor')) return <AuditorHome />;
  return has('contributor') ? <ContributorHome /> : <ViewerHome />;
}

/** Of an owner, an administrator and a risk manager: what is their turn, coverage, ratings and changes. */
function LeadHome(): ReactNode {
  const { to } = useOrganization();
  const count = useEvidenceStates();
  const worse = useWorseRisks();
  const gaps = useTrends().data?.frameworks.reduce((sum, { months }) => sum + (months.at(-1)?.gap ?? 0), 0);
  return (
    <Page title={texts.risksAndEvidence} intro={texts.risksAndEvidenceIntro}>
      <Figures
        figures={[
          { ...worse, tone: 'bad' },
          { label: texts.evidenceToReview, value: count('in_review'), to: to('evidence'), tone: 'wait' },
          { label: texts.evidenceThatExpires, value: count('expiring'), to: to('evidence'), tone: 'wait' },
          { label: texts.evidenceExpired, value: count('expired'), to: to('evidence'), tone: 'bad' },
          { label: texts.evidenceRejected, value: count('rejected'), to: to('evidence'), tone: 'bad' },
          { label: texts.gapsInCoverage, value: gaps, to: to('coverage'), tone: 'bad' },
        ]}
      />
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
        <RiskChanges />
        <RiskList title={texts.nextReviews} query={{ sort: 'nextReviewAt' }} empty={texts.noReviewIsPlanned} />
        <FirstEvidence title={texts.evidenceThatExpires} state="expiring" empty={texts.nothingExpiresSoon} />
        <AcceptanceList />
        <CoverageByFramework />
        <RisksOverTime />
      </SimpleGrid>
    </Page>
  );
}

/** What changed of risks. Only one of the lists is loaded, so that the page asks for little at first. */
function RiskChanges(): ReactNode {
  const [list, setList] = useState('worse');
  return (
    <Stack gap="sm">
      {list === 'worse' ? (
        <WorseList />
      ) : (
        <RiskList title={texts.changedLast} query={{ sort: '-updatedAt' }} empty={texts.nothingChangedYet} />
      )}
      <SegmentedControl
        aria-label={texts.whichChangesOfRisks}
        value={list}
        data={[
          { value: 'worse', label: texts.gotWorse },
          { value: 'last', label: texts.changedLast },
        ]}
        onChange={setList}
      />
    </Stack>
  );
}

/** Of a viewer: how things stand, of the rows that they may see. */
const ViewerHome = (): ReactNode => (
  <Page title={texts.risksAndEvidence} intro={useCountedIntro(texts.howThingsStand)}>
    <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
      <CoverageByFramework />
      <RisksOverTime />
    </SimpleGrid>
    <RiskList title={texts.changedLast} query={{ sort: '-updatedAt' }} empty={texts.nothingChangedYet} />
  </Page>
);
