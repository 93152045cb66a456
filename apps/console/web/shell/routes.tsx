import type { ReactNode } from 'react';
import { Anchor, Loader, Stack, Text } from '@mantine/core';
import { Link, Navigate, createBrowserRouter, useRouteError } from 'react-router';
import { Layout } from './layout.tsx';
import { ListEmpty } from './list-states.tsx';
import { Page } from './page.tsx';
import { parts } from './parts.ts';
import { ProblemView } from './problem-view.tsx';

export const createRouter = (): ReturnType<typeof createBrowserRouter> =>
  createBrowserRouter([
    {
      path: '/',
      Component: Layout,
      HydrateFallback: Starting,
      children: [
        {
          errorElement: <PartFailed />,
          children: [
            { index: true, element: <Navigate to="/home" replace /> },
            ...parts.map(({ path, load }) => ({ path: `${path}/*`, lazy: load })),
            { path: '*', Component: NoSuchPage },
          ],
        },
      ],
    },
  ]);

const Starting = (): ReactNode => (
  <Stack align="center" pt={120} role="status">
    <Loader aria-label="Loading" />
  </Stack>
);

/**
 * Error boundary: a part whose code failed to load (a new version was deployed, or the network is down), or that threw.
 */
function PartFailed(): ReactNode {
  const error = useRouteError();
  return (
    <Page title="This page failed">
      <ProblemView error={error} onRetry={() => globalThis.location.reload()}>
        <Text size="sm">Reloading also fetches a newer version of the console, if there is one.</Text>
      </ProblemView>
    </Page>
  );
}

/** Not-found page; parts use it below their own paths as well. */
export const NoSuchPage = (): ReactNode => (
  <Page title="No such page">
    <ListEmpty
      title="Nothing is at this address"
      icon="search"
      action={
        <Anchor component={Link} to="/home">
          To the start page
        </Anchor>
      }
    >
      The link may be old or incomplete.
    </ListEmpty>
  </Page>
);
