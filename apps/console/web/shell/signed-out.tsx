import type { ReactNode } from 'react';
import { Button, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { useLocation } from 'react-router';
import { useSession } from './session.ts';
import * as texts from './texts.ts';

export const signInAddress = (returnTo: string): string => `/sign-in?returnTo=${encodeURIComponent(returnTo)}`;

/**
 * Shown without a session. Before the first sign-in it is the page; when a session ends under a page with unsaved
 * input, it is shown above that page, which works again after a sign-in in a second tab.
 */
export function SignedOut({ under }: { under: boolean }): ReactNode {
  const { pathname, search } = useLocation();
  const session = useSession();
  const address = signInAddress(`${pathname}${search}`);
  return (
    <Paper p="lg" maw={640} mx={under ? 0 : 'auto'} mt={under ? 0 : 48} role="alert" w="100%">
      <Stack gap="sm">
        <Title order={under ? 2 : 1}>{under ? texts.youAreSignedOut : texts.signInToSealgate}</Title>
        <Text size="sm">{under ? texts.sessionHasEnded : texts.signInHint}</Text>
        <Group gap="sm">
          {under ? (
            <>
              <Button component="a" href={signInAddress('/home')} target="_blank" rel="noopener">
                {texts.signInInASecondTab}
              </Button>
              <Button variant="default" onClick={() => void session.refetch()} loading={session.isFetching}>
                {texts.iHaveSignedIn}
              </Button>
            </>
          ) : (
            <Button component="a" href={address}>
              {texts.signIn}
            </Button>
          )}
        </Group>
      </Stack>
    </Paper>
  );
}
