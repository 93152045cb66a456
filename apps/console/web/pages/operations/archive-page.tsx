import { useState, type ReactNode } from 'react';
import { Button } from '@mantine/core';
import { useReload } from '../../shell/api.ts';
import { CursorTable } from '../../shell/cursor-table.tsx';
import { formatNumber } from '../../shell/formats.ts';
import { useMayAdmin } from '../../shell/mine.ts';
import { Page } from '../../shell/page.tsx';
import { channelTable, type Channel } from '../ledger/channel-table.tsx';
import { ledgerOf, type LedgerSurface } from '../ledger/ledger-source.ts';
import { ArchiveDialog } from './archive-dialog.tsx';
import { OfLedger } from './of-ledger.tsx';

/** How far each channel is archived, and moving more of it. */
export const ArchivePage = (): ReactNode => (
  <OfLedger title="Archive">{(surface, picker) => <Channels surface={surface} picker={picker} />}</OfLedger>
);

function Channels({ surface, picker }: { readonly surface: LedgerSurface; readonly picker: ReactNode }): ReactNode {
  const isOperator = useMayAdmin(surface, 'admin:change');
  const reload = useReload();
  const {
    columns: { channel, size, signed },
    ...table
  } = channelTable(surface);
  const [chosen, setChosen] = useState<{ readonly channel: string; readonly size: number }>();
  return (
    <Page
      title="Archive"
      intro="The oldest records of a channel can be moved to files. Their ids stay taken and their proofs valid; services that have the files still read and prove them."
      actions={picker}
    >
      <CursorTable
        {...table}
        columns={[
          channel,
          size,
          { title: 'Archived', width: '14rem', cell: archivedInWords },
          signed,
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
      />
      {chosen !== undefined && (
        <ArchiveDialog
          surface={surface}
          channel={chosen.channel}
          size={chosen.size}
          onClose={() => {
            setChosen(undefined);
            void reload(ledgerOf(surface));
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
