import { Anchor } from '@mantine/core';
import { Link } from 'react-router';
import type { Schemas } from '@sealgate/client';
import { listed } from '../../shell/api.ts';
import { formatNumber } from '../../shell/formats.ts';
import { ListEmpty } from '../../shell/list-states.tsx';
import { ledgerOf, type LedgerSurface } from './ledger-source.ts';
import { SignedState } from './signed-state.tsx';
import * as texts from './texts.ts';

export type Channel = Schemas['ingestGatewayAdmin']['Channel'];

/** What every table of the channels of a service has; `columns` are the common ones. */
export const channelTable = (surface: LedgerSurface) => ({
  label: texts.channels,
  page: listed(`${ledgerOf(surface)}/channels`),
  rowKey: ({ channel }: Channel) => channel,
  columns: {
    channel: {
      title: texts.channel,
      cell: ({ channel }: Channel) => (
        <Anchor component={Link} to={`/ledger/${encodeURIComponent(channel)}?by=${surface}`} fw={600} size="sm">
          {channel}
        </Anchor>
      ),
    },
    size: { title: texts.records, align: 'right', width: '8rem', cell: ({ size }: Channel) => formatNumber(size) },
    signed: { title: texts.newestCheckpoint, cell: (channel: Channel) => <SignedState channel={channel} /> },
  } as const,
  empty: (
    <ListEmpty title={texts.theLedgerIsEmpty} icon="ledger">
      {texts.theLedgerIsEmptyHint}
    </ListEmpty>
  ),
});
