import { lazy, Suspense, type ComponentType, type ReactNode } from 'react';
import { Button, Group, Stack } from '@mantine/core';
import { Link, useSearchParams } from 'react-router';
import { ListEmpty, ListLoading } from '../../shell/list-states.tsx';
import { useMine, type HomeKind } from '../../shell/mine.ts';
import { Page } from '../../shell/page.tsx';
import { surfaceNames } from '../../shell/surface-names.ts';
import * as texts from './texts.ts';

/** Each start page is loaded for those who have it. */
const HOMES: Readonly<Record<HomeKind, { readonly title: string; readonly Home: ComponentType }>> = {
  person: {
    title: texts.risksAndEvidence,
    Home: lazy(async () => ({ default: (await import('./person-home.tsx')).PersonHome })),
  },
  partner: {
    title: texts.partnerAccess,
    Home: lazy(async () => ({ default: (await import('./partner-home.tsx')).PartnerHome })),
  },
  reviewer: {
    title: texts.casesToReview,
    Home: lazy(async () => ({ default: (await import('./reviewer-home.tsx')).ReviewerHome })),
  },
  author: {
    title: texts.policies,
    Home: lazy(async () => ({ default: (await import('./author-home.tsx')).AuthorHome })),
  },
  operator: {
    title: texts.services,
    Home: lazy(async () => ({ default: (await import('../overview/overview-part.tsx')).OverviewPart })),
  },
};

/** The start page of the signed-in person; who has several chooses, in the address. */
export function HomePart(): ReactNode {
  const { mine } = useMine();
  const [search] = useSearchParams();
  const homes = mine?.homes ?? [];
  const chosen = homes.find((home) => home === search.get('as')) ?? homes[0];
  if (mine === undefined) return <ListLoading />;
  if (chosen === undefined) return <NothingYet unknown={mine.unknown.map((id) => surfaceNames[id].title)} />;
  const { Home } = HOMES[chosen];
  return (
    <Stack gap="lg">
      {homes.length > 1 && (
        <Group component="nav" gap="xs" aria-label={texts.startPages} maw={1280} mx="auto" w="100%">
          {homes.map((home) => (
            <Button
              key={home}
              component={Link}
              to={`/home?as=${home}`}
              size="xs"
              variant={home === chosen ? 'light' : 'default'}
              {...(home === chosen && { 'aria-current': 'page' as const })}
            >
              {HOMES[home].title}
            </Button>
          ))}
        </Group>
      )}
      <Suspense fallback={<ListLoading />}>
        <Home />
      </Suspense>
    </Stack>
  );
}

const NothingYet = ({ unknown }: { readonly unknown: readonly string[] }): ReactNode => (
  <Page title={texts.home}>
    {unknown.length === 0 ? (
      <ListEmpty title={texts.nothingIsYoursYet} icon="person">
        {texts.nothingIsYoursYetHint}
      </ListEmpty>
    ) : (
      <ListEmpty title={texts.notKnownYet} icon="person">
        {texts.notKnownYetHint(unknown.join(', '))}
      </ListEmpty>
    )}
  </Page>
);
