import { Anchor } from '@mantine/core';
import { Link } from 'react-router';
import type { Schemas } from '@sealgate/client';
import { listed } from '../../shell/api.ts';
import { formatNumber } from '../../shell/formats.ts';
import { ListEmpty } from '../../shell/list-states.tsx';
import { ledgerOf, type LedgerSurface } from './ledger-source.ts';
import { SignedState } from './signed-state.tsx';

export type Channel = Schemas['ingestGatewayAdmin']['Channel'];

/** What every table of the channels of a service has; `columns` are the common ones. */
export const channelTable = (surface: LedgerSurface) => ({
  label: 'Channels',
  page: listed(`${ledgerOf(surface)}/channels`),
  rowKey: ({ channel }: Channel) => channel,
  columns: {
    channel: {
      title: 'Channel',
      cell: ({ channel }: Channel) => (
        <Anchor component={Link} to={`/ledger/${encodeURIComponent(channel)}?by=${surface}`} fw={600} size="sm">
          {channel}
        </Anchor>
      ),
    },
    size: { title: 'Records', align: 'right', width: '8rem', cell: ({ size }: Channel) => formatNumber(size) },
    signed: { title: 'Newest checkpoint', cell: (channel: Channel) => <SignedState channel={channel} /> },
  } as const,
  empty: (
    <ListEmpty title="The ledger is empty" icon="ledger">
      A channel appears when its network is created.
    </ListEmpty>
  ),
});
