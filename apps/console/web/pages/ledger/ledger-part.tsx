import { lazy, type ReactNode } from 'react';
import { Paper } from '@mantine/core';
import { Route, Routes } from 'react-router';
import { ListEmpty } from '../../shell/list-states.tsx';
import { Page } from '../../shell/page.tsx';
import { NoSuchPage } from '../../shell/routes.tsx';
import { ChannelList } from './channel-list.tsx';
import { FabricChannels, useShowsFabric } from './fabric-channels.tsx';
import { useLedgerSurface, type LedgerSurface } from './ledger-source.ts';
import * as texts from './texts.ts';

const ChannelPage = lazy(async () => ({ default: (await import('./channel-page.tsx')).ChannelPage }));
const FabricChannelPage = lazy(async () => ({
  default: (await import('./fabric-channel-page.tsx')).FabricChannelPage,
}));
const FabricBlockPage = lazy(async () => ({ default: (await import('./fabric-block-page.tsx')).FabricBlockPage }));
const FabricTransactionPage = lazy(async () => ({
  default: (await import('./fabric-transaction-page.tsx')).FabricTransactionPage,
}));
const RecordPage = lazy(async () => ({ default: (await import('./record-page.tsx')).RecordPage }));

/** The ledger of the ingest gateway, or of the ledger peer: channels, records, proofs; on Fabric blocks and transactions. */
export function LedgerPart(): ReactNode {
  const { surface } = useLedgerSurface();
  if (surface === undefined) {
    return (
      <Page title={texts.ledgerExplorer}>
        <Paper>
          <ListEmpty title={texts.noLedgerIsConfigured} icon="ledger" />
        </Paper>
      </Page>
    );
  }
  return (
    <Routes>
      <Route index element={<Channels surface={surface} />} />
      <Route path="fabric/:channel" element={<FabricChannelPage />} />
      <Route path="fabric/:channel/:number" element={<FabricBlockPage />} />
      <Route path="fabric/transactions/:transactionId" element={<FabricTransactionPage />} />
      <Route path=":channel" element={<ChannelPage surface={surface} />} />
      <Route path=":channel/:recordId" element={<RecordPage surface={surface} />} />
      <Route path="*" element={<NoSuchPage />} />
    </Routes>
  );
}

/** Asked here alone: no other page of the explorer needs to know. */
const Channels = ({ surface }: { surface: LedgerSurface }): ReactNode =>
  useShowsFabric() ? <FabricChannels /> : <ChannelList surface={surface} />;
