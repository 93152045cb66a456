import type { ReactNode } from 'react';
import { useSearchParams } from 'react-router';
import { useMine } from '../../shell/mine.ts';
import { OfOrganization } from '../risks/organization.tsx';
import { RiskHome } from './risk-home.tsx';

/** The start page of a member of an organisation; of several, the one in the address or the first. */
export function PersonHome(): ReactNode {
  const { mine } = useMine();
  const [search] = useSearchParams();
  const all = mine?.person?.organizations ?? [];
  const org = all.find(({ id }) => id === search.get('org')) ?? all[0];
  return (
    <OfOrganization org={org?.id ?? ''}>
      <RiskHome />
    </OfOrganization>
  );
}
