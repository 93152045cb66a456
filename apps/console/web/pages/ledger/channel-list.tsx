import type { ReactNode } from 'react';
import { Anchor, SegmentedControl } from '@mantine/core';
import { Link, useNavigate } from 'react-router';
import { dataOf } from '../../shell/console-fetch.ts';
import { CursorTable } from '../../shell/cursor-table.tsx';
import { formatNumber } from '../../shell/formats.ts';
import { ListEmpty } from '../../shell/list-states.tsx';
import { Page } from '../../shell/page.tsx';
import { ledgerBy, useLedgerSurface, type LedgerSurface } from './ledger-source.ts';
import { SignedState } from './signed-state.tsx';

const words: Readonly<Record<LedgerSurface, string>> = {
  'ingest-gateway': 'Ingest gateway',
  'ledger-peer': 'Ledger peer',
};

/** All channels with their sizes and newest checkpoints. */
export function ChannelList({ surface }: { surface: LedgerSurface }): ReactNode {
  const { others } = useLedgerSurface();
  const navigate = useNavigate();
  return (
    <Page
      title="Ledger explorer"
      intro="Each channel is a separate log: its records can be proved, and cannot be removed or changed unnoticed."
      actions={
        others.length > 0 && (
          <SegmentedControl
            aria-label="Service that serves the ledger"
            data={[surface, ...others].toSorted().map((value) => ({ value, label: words[value] }))}
            value={surface}
            onChange={(by) => void navigate(`/ledger?by=${by}`)}
          />
        )
      }
    >
      <CursorTable
        label="Channels"
        queryKey={['ledger', surface, 'channels']}
        load={(cursor, signal) =>
          dataOf(
            ledgerBy(surface).GET('/admin/v1/ledger/channels', {
              params: { query: { limit: 50, ...(cursor && { cursor }) } },
              signal,
            }),
          )
        }
        refetchMs={15_000}
        rowKey={({ channel }) => channel}
        columns={[
          {
            title: 'Channel',
            cell: ({ channel }) => (
              <Anchor component={Link} to={`/ledger/${encodeURIComponent(channel)}?by=${surface}`} fw={600} size="sm">
                {channel}
              </Anchor>
            ),
          },
          { title: 'Records', align: 'right', width: '8rem', cell: ({ size }) => formatNumber(size) },
          { title: 'Newest checkpoint', cell: (channel) => <SignedState channel={channel} /> },
        ]}
        empty={
          <ListEmpty title="The ledger is empty" icon="ledger">
            A channel appears when its network is created.
          </ListEmpty>
        }
      />
    </Page>
  );
}
