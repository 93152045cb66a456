import type { ReactNode } from 'react';
import { SegmentedControl } from '@mantine/core';
import { useNavigate } from 'react-router';
import { CursorTable } from '../../shell/cursor-table.tsx';
import { Page } from '../../shell/page.tsx';
import { channelTable } from './channel-table.tsx';
import { useLedgerSurface, type LedgerSurface } from './ledger-source.ts';
import * as texts from './texts.ts';

const words: Readonly<Record<LedgerSurface, string>> = {
  'ingest-gateway': texts.ingestGateway,
  'ledger-peer': texts.ledgerPeer,
};

/** Chooses the service whose ledger is shown; nothing if there is one. */
export function LedgerChoice({ shown }: { shown: LedgerSurface }): ReactNode {
  const { surface, others } = useLedgerSurface();
  const navigate = useNavigate();
  if (surface === undefined || others.length === 0) return null;
  return (
    <SegmentedControl
      aria-label={texts.serviceThatServesTheLedger}
      data={[surface, ...others].toSorted().map((value) => ({ value, label: words[value] }))}
      value={shown}
      onChange={(by) => void navigate(`/ledger?by=${by}`)}
    />
  );
}

/** All channels with their sizes and newest checkpoints. */
export function ChannelList({ surface }: { surface: LedgerSurface }): ReactNode {
  const {
    columns: { channel, size, signed },
    ...table
  } = channelTable(surface);
  return (
    <Page title={texts.ledgerExplorer} intro={texts.ledgerExplorerIntro} actions={<LedgerChoice shown={surface} />}>
      <CursorTable {...table} refetchMs={15_000} columns={[channel, size, signed]} />
    </Page>
  );
}
