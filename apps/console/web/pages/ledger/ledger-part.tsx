import { lazy, type ReactNode } from 'react';
import { Paper } from '@mantine/core';
import { Route, Routes } from 'react-router';
import { ListEmpty } from '../../shell/list-states.tsx';
import { Page } from '../../shell/page.tsx';
import { NoSuchPage } from '../../shell/routes.tsx';
import { ChannelList } from './channel-list.tsx';
import { useLedgerSurface } from './ledger-source.ts';

const ChannelPage = lazy(async () => ({ default: (await import('./channel-page.tsx')).ChannelPage }));
const RecordPage = lazy(async () => ({ default: (await import('./record-page.tsx')).RecordPage }));

/** The ledger of the ingest gateway, or of the ledger peer: channels, records, proofs. */
export function LedgerPart(): ReactNode {
  const { surface } = useLedgerSurface();
  if (surface === undefined) {
    return (
      <Page title="Ledger explorer">
        <Paper>
          <ListEmpty title="No ledger is configured" icon="ledger" />
        </Paper>
      </Page>
    );
  }
  return (
    <Routes>
      <Route index element={<ChannelList surface={surface} />} />
      <Route path=":channel" element={<ChannelPage surface={surface} />} />
      <Route path=":channel/:recordId" element={<RecordPage surface={surface} />} />
      <Route path="*" element={<NoSuchPage />} />
    </Routes>
  );
}
