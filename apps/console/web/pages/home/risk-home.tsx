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
    <Page title="Risks and evidence" intro="What waits for somebody, and how things stand.">
      <Figures
        figures={[
          { ...worse, tone: 'bad' },
          { label: 'Evidence to review', value: count('in_review'), to: to('evidence'), tone: 'wait' },
          { label: 'Evidence that expires', value: count('expiring'), to: to('evidence'), tone: 'wait' },
          { label: 'Evidence expired', value: count('expired'), to: to('evidence'), tone: 'bad' },
          { label: 'Evidence rejected', value: count('rejected'), to: to('evidence'), tone: 'bad' },
          { label: 'Gaps in coverage', value: gaps, to: to('coverage'), tone: 'bad' },
        ]}
      />
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
        <RiskChanges />
        <RiskList title="Next reviews" query={{ sort: 'nextReviewAt' }} empty="No review is planned" />
        <FirstEvidence title="Evidence that expires" state="expiring" empty="Nothing expires soon" />
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
        <RiskList title="Changed last" query={{ sort: '-updatedAt' }} empty="Nothing changed yet" />
      )}
      <SegmentedControl
        aria-label="Which changes of risks"
        value={list}
        data={[
          { value: 'worse', label: 'Got worse' },
          { value: 'last', label: 'Changed last' },
        ]}
        onChange={setList}
      />
    </Stack>
  );
}

/** Of a viewer: how things stand, of the rows that they may see. */
const ViewerHome = (): ReactNode => (
  <Page title="Risks and evidence" intro={useCountedIntro('How things stand.')}>
    <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
      <CoverageByFramework />
      <RisksOverTime />
    </SimpleGrid>
    <RiskList title="Changed last" query={{ sort: '-updatedAt' }} empty="Nothing changed yet" />
  </Page>
);
