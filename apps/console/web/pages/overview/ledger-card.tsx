import type { ReactNode } from 'react';
import { Anchor, Paper, Stack, Text, Title } from '@mantine/core';
import { Link } from 'react-router';
import { api } from '../../shell/api.ts';
import { PlainTable } from '../../shell/cursor-table.tsx';
import { formatNumber } from '../../shell/formats.ts';
import { ListEmpty, ListError, ListLoading } from '../../shell/list-states.tsx';
import { ledgerOf, type LedgerSurface } from '../ledger/ledger-source.ts';
import { SignedState } from '../ledger/signed-state.tsx';
import * as texts from './texts.ts';

/** Maximum number of channels shown here; the explorer has all. */
const SHOWN = 6;
const REFRESH_MS = 15_000;

/** The size of the ledger and the age of its newest checkpoints. */
export function LedgerCard({ surfaces }: { surfaces: readonly LedgerSurface[] }): ReactNode {
  const [surface] = surfaces;
  return (
    <Stack gap="sm" component="section" aria-label={texts.ledger}>
      <Title order={2}>{texts.ledger}</Title>
      {surface === undefined ? (
        <Paper>
          <ListEmpty title={texts.noLedgerIsConfigured} icon="ledger">
            {texts.noLedgerIsConfiguredHint}
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
        label={texts.channelsOfTheLedger}
        rows={channels.data.items}
        rowKey={({ channel }) => channel}
        columns={[
          {
            title: texts.channel,
            cell: ({ channel }) => (
              <Anchor component={Link} to={`/ledger/${encodeURIComponent(channel)}?by=${surface}`} size="sm">
                {channel}
              </Anchor>
            ),
          },
          { title: texts.records, align: 'right', width: '7rem', cell: ({ size }) => formatNumber(size) },
          { title: texts.newestCheckpoint, cell: (channel) => <SignedState channel={channel} /> },
        ]}
        empty={
          <ListEmpty title={texts.theLedgerIsEmpty} icon="ledger">
            {texts.theLedgerIsEmptyHint}
          </ListEmpty>
        }
      />
      {channels.data.nextCursor != null && (
        <Text size="sm">
          <Anchor component={Link} to={`/ledger?by=${surface}`}>
            {texts.allChannels}
          </Anchor>
        </Text>
      )}
    </>
  );
}
