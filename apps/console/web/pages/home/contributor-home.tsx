import type { ReactNode } from 'react';
import { SimpleGrid } from '@mantine/core';
import { Page } from '../../shell/page.tsx';
import { useOrganization } from '../risks/organization.tsx';
import { EvidenceList, RiskList } from './home-cards.tsx';

/** The start page of a contributor: what is asked of them. */
export function ContributorHome(): ReactNode {
  const { me } = useOrganization();
  const mine = { ownerId: me.personId };
  return (
    <Page title="Asked of me" intro="Evidence and risks of which you are the owner.">
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
        <EvidenceList title="To collect" query={{ ...mine, state: 'requested' }} empty="Nothing is requested of you" />
        <EvidenceList title="Rejected" query={{ ...mine, state: 'rejected' }} empty="Nothing was rejected" />
        <EvidenceList
          title="To renew"
          query={{ ...mine, state: 'expiring', sort: 'validUntil' }}
          empty="Nothing of yours expires soon"
        />
        <RiskList title="Risks to review" query={{ ...mine, sort: 'nextReviewAt' }} empty="No risk is yours" />
      </SimpleGrid>
    </Page>
  );
}
