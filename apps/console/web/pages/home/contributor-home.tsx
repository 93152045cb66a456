import type { ReactNode } from 'react';
import { SimpleGrid } from '@mantine/core';
import { Page } from '../../shell/page.tsx';
import { useOrganization } from '../risks/organization.tsx';
import { EvidenceList, RiskList } from './home-cards.tsx';
import * as texts from './texts.ts';

/** The start page of a contributor: what is asked of them. */
export function ContributorHome(): ReactNode {
  const { me } = useOrganization();
  const mine = { ownerId: me.personId };
  return (
    <Page title={texts.askedOfMe} intro={texts.askedOfMeIntro}>
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
        <EvidenceList
          title={texts.toCollect}
          query={{ ...mine, state: 'requested' }}
          empty={texts.nothingIsRequestedOfYou}
        />
        <EvidenceList title={texts.rejected} query={{ ...mine, state: 'rejected' }} empty={texts.nothingWasRejected} />
        <EvidenceList
          title={texts.toRenew}
          query={{ ...mine, state: 'expiring', sort: 'validUntil' }}
          empty={texts.nothingOfYoursExpiresSoon}
        />
        <RiskList title={texts.risksToReview} query={{ ...mine, sort: 'nextReviewAt' }} empty={texts.noRiskIsYours} />
      </SimpleGrid>
    </Page>
  );
}
