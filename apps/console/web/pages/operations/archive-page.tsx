import { useState, type ReactNode } from 'react';
import { Anchor, Button } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { Link } from 'react-router';
import type { Schemas } from '@sealgate/client';
import { dataOf } from '../../shell/console-fetch.ts';
import { CursorTable } from '../../shell/cursor-table.tsx';
import { ListEmpty } from '../../shell/list-states.tsx';
import { formatNumber } from '../../shell/formats.ts';
import { useMayAdmin } from '../../shell/mine.ts';
import { Page } from '../../shell/page.tsx';
import { ledgerBy, type LedgerSurface } from '../ledger/ledger-source.ts';
import { SignedState } from '../ledger/signed-state.tsx';
import { ArchiveDialog } from './archive-dialog.tsx';
import { OfLedger } from './of-ledger.tsx';

type Channel = Schemas['ingestGatewayAdmin']['Channel'];

/** How far each channel is archived, and moving more of it. */
export const ArchivePage = (): ReactNode => (
  <OfLedger title="Archive">{(surface, picker) => <Channels surface={surface} picker={picker} />}</OfLedger>
);

function Channels({ surface, picker }: { readonly surface: LedgerSurface; readonly picker: ReactNode }): ReactNode {
  const isOperator = useMayAdmin(surface, 'admin:change');
  const queries = useQueryClient();
  const [chosen, setChosen] = useState<{ readonly channel: string; readonly size: number }>();
  return (
    <Page
      title="Archive"
      intro="The oldest records of a channel can be moved to files. Their ids stay taken and their proofs valid; services that have the files still read and prove them."
      actions={picker}
    >
      <CursorTable
        label="Channels"
        queryKey={['ledger', surface, 'archive']}
        load={(cursor, signal) =>
          dataOf(
            ledgerBy(surface).GET('/admin/v1/ledger/channels', {
              params: { query: { limit: 50, ...(cursor && { cursor }) } },
              signal,
            }),
          )
        }
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
          { title: 'Archived', width: '14rem', cell: archivedInWords },
          { title: 'Newest checkpoint', cell: (channel) => <SignedState channel={channel} /> },
          ...(isOperator
            ? [
                {
                  title: 'Action',
                  width: '8rem',
                  cell: (row: Channel) => (
                    <Button
                      size="compact-xs"
                      variant="default"
                      aria-label={`Archive records of ${row.channel}`}
                      onClick={() => setChosen(row)}
                    >
                      Archive
                    </Button>
                  ),
                },
              ]
            : []),
        ]}
        empty={
          <ListEmpty title="The ledger is empty" icon="ledger">
            A channel appears when its network is created.
          </ListEmpty>
        }
      />
      {chosen !== undefined && (
        <ArchiveDialog
          surface={surface}
          channel={chosen.channel}
          size={chosen.size}
          onClose={() => {
            setChosen(undefined);
            void queries.invalidateQueries({ queryKey: ['ledger', surface] });
          }}
        />
      )}
    </Page>
  );
}

function archivedInWords({ archived, size }: Channel): string {
  if (archived === null) return 'Not known here';
  if (archived === 0) return 'None';
  return archived === size ? `All ${formatNumber(size)}` : `0 to ${formatNumber(archived - 1)}`;
}
