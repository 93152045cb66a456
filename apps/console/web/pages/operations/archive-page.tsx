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
import * as texts from './texts.ts';

/** How far each channel is archived, and moving more of it. */
export const ArchivePage = (): ReactNode => (
  <OfLedger title={texts.archive}>{(surface, picker) => <Channels surface={surface} picker={picker} />}</OfLedger>
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
    <Page title={texts.archive} intro={texts.archiveIntro} actions={picker}>
      <CursorTable
        {...table}
        columns={[
          channel,
          size,
          { title: texts.archived, width: '14rem', cell: archivedInWords },
          signed,
          ...(isOperator
            ? [
                {
                  title: texts.action,
                  width: '8rem',
                  cell: (row: Channel) => (
                    <Button
                      size="compact-xs"
                      variant="default"
                      aria-label={texts.archiveRecordsOf(row.channel)}
                      onClick={() => setChosen(row)}
                    >
                      {texts.archive}
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
  if (archived === null) return texts.notKnownHere;
  if (archived === 0) return texts.none;
  return archived === size ? texts.allRecords(formatNumber(size)) : texts.recordsFromZero(formatNumber(archived - 1));
}
