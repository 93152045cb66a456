import type { ReactNode } from 'react';
import { Paper } from '@mantine/core';
import { Route, Routes } from 'react-router';
import { ListEmpty, Unread } from '../../shell/list-states.tsx';
import { Page } from '../../shell/page.tsx';
import { NoSuchPage } from '../../shell/routes.tsx';
import { useSession } from '../../shell/session.ts';
import { publishes } from '../prove/take-keys.ts';
import { LogList } from './log-list.tsx';
import { LogPage } from './log-page.tsx';
import * as texts from './texts.ts';

/** Public logs, for everybody: what the ledger peer answers without a key. */
export function LogPart(): ReactNode {
  const session = useSession();
  if (session.data === undefined || !publishes(session.data, 'ledger-peer')) {
    return (
      <Page title={texts.publicLog}>
        {session.data === undefined ? (
          <Unread read={session} />
        ) : (
          <Paper>
            <ListEmpty title={texts.noPublicLogIsServedHere} icon="ledger" />
          </Paper>
        )}
      </Page>
    );
  }
  return (
    <Routes>
      <Route index element={<LogList />} />
      <Route path=":channel" element={<LogPage />} />
      <Route path="*" element={<NoSuchPage />} />
    </Routes>
  );
}
