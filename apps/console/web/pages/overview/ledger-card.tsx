import type { ReactNode } from 'react';
import { Anchor, Paper, Stack, Text, Title } from '@mantine/core';
import { Link } from 'react-router';
import { api } from '../../shell/api.ts';
import { PlainTable } from '../../shell/cursor-table.tsx';
import { formatNumber } from '../../shell/formats.ts';
import { ListEmpty, ListError, ListLoading } from '../../shell/list-states.tsx';
import { ledgerOf, type LedgerSurface } from '../ledger/ledger-source.ts';
import { SignedState } from '../ledger/signed-state.tsx';

/** Maximum number of channels shown here; the explorer has all. */
const SHOWN = 6;
const REFRESH_MS = 15_000;

/** The size of the ledger and the age of its newest checkpoints. */
export function LedgerCard({ surfaces }: { surfaces: readonly LedgerSurface[] }): ReactNode {
  const [surface] = surfaces;
  return (
    <Stack gap="sm" component="section" aria-label="Ledger">
      <Title order={2}>Ledger</Title>
      {surface === undefined ? (
        <Paper>
          <ListEmpty title="No ledger is configured" icon="ledger">
            The admin address of the ingest gateway or of the ledger peer makes it visible.
          </ListEmpty>
        </Paper>
      ) : (
        <Channels surface={surface} />
      )}
    </Stack>
  );
}

function Channels({ surface }: { surface: LedgerSurface }): ReactNode {
  const channels = api.useQuery(
    'get',
    `${ledgerOf(surface)}/channels`,
    { params: { query: { limit: SHOWN } } },
    { refetchInterval: REFRESH_MS },
  );
  if (channels.data === undefined) {
    if (channels.isError) return <ListError error={channels.error} onRetry={() => void channels.refetch()} />;
    return (
      <Paper>
        <ListLoading rows={4} />
      </Paper>
    );
  }
  return (
    <>
      <PlainTable
        label="Channels of the ledger"
        rows={channels.data.items}
        rowKey={({ channel }) => channel}
        columns={[
          {
            title: 'Channel',
            cell: ({ channel }) => (
              <Anchor component={Link} to={`/ledger/${encodeURIComponent(channel)}?by=${surface}`} size="sm">
                {channel}
              </Anchor>
            ),
          },
          { title: 'Records', align: 'right', width: '7rem', cell: ({ size }) => formatNumber(size) },
          { title: 'Newest checkpoint', cell: (channel) => <SignedState channel={channel} /> },
        ]}
        empty={
          <ListEmpty title="The ledger is empty" icon="ledger">
            The first record that a key writes makes the first entry.
          </ListEmpty>
        }
      />
      {channels.data.nextCursor != null && (
        <Text size="sm">
          <Anchor component={Link} to={`/ledger?by=${surface}`}>
            All channels
          </Anchor>
        </Text>
      )}
    </>
  );
}
