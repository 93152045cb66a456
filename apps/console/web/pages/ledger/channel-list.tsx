import type { ReactNode } from 'react';
import { SegmentedControl } from '@mantine/core';
import { useNavigate } from 'react-router';
import { CursorTable } from '../../shell/cursor-table.tsx';
import { Page } from '../../shell/page.tsx';
import { channelTable } from './channel-table.tsx';
import { useLedgerSurface, type LedgerSurface } from './ledger-source.ts';

const words: Readonly<Record<LedgerSurface, string>> = {
  'ingest-gateway': 'Ingest gateway',
  'ledger-peer': 'Ledger peer',
};

/** Chooses the service whose ledger is shown; nothing if there is one. */
export function LedgerChoice({ shown }: { shown: LedgerSurface }): ReactNode {
  const { surface, others } = useLedgerSurface();
  const navigate = useNavigate();
  if (surface === undefined || others.length === 0) return null;
  return (
    <SegmentedControl
      aria-label="Service that serves the ledger"
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
    <Page
      title="Ledger explorer"
      intro="Each channel is a separate log: its records can be proved, and cannot be removed or changed unnoticed."
      actions={<LedgerChoice shown={surface} />}
    >
      <CursorTable {...table} refetchMs={15_000} columns={[channel, size, signed]} />
    </Page>
  );
}
