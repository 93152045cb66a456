import type { ReactNode } from 'react';
import { Anchor } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useSearchParams } from 'react-router';
import type { Schemas } from '@sealgate/client';
import { listed } from '../../shell/api.ts';
import { CursorTable } from '../../shell/cursor-table.tsx';
import { formatNumber } from '../../shell/formats.ts';
import { ListEmpty } from '../../shell/list-states.tsx';
import { useMayAdmin } from '../../shell/mine.ts';
import { Page } from '../../shell/page.tsx';
import { StateBadge } from '../../shell/state-badge.tsx';
import { LedgerChoice } from './channel-list.tsx';
import * as texts from './texts.ts';

type FabricChannel = Schemas['ledgerPeerAdmin']['FabricChannel'];

const channelPages = listed('/admin/ledger-peer/admin/v1/fabric/channels');

/** Whether the ledger of the ledger peer is on Fabric, and the explorer shows that one. */
export function useShowsFabric(): boolean {
  const [search] = useSearchParams();
  const by = search.get('by');
  const isShown = useMayAdmin('ledger-peer', 'admin:read') && (by === null || by === 'ledger-peer');
  const channels = useQuery({ ...channelPages({}), enabled: isShown });
  return isShown && (channels.data?.items.length ?? 0) > 0;
}

export const fabricPath = (channel: string, number?: number): string =>
  `/ledger/fabric/${encodeURIComponent(channel)}${number === undefined ? '' : `/${number}`}`;

/** The channels of Fabric that mappings of the ledger peer lead to. */
export const FabricChannels = (): ReactNode => (
  <Page title={texts.ledgerExplorer} intro={texts.fabricIntro} actions={<LedgerChoice shown="ledger-peer" />}>
    <CursorTable
      label={texts.channels}
      page={channelPages}
      refetchMs={15_000}
      rowKey={({ channel }) => channel}
      columns={[
        {
          title: texts.channel,
          cell: ({ channel }: FabricChannel) => (
            <Anchor component={Link} to={fabricPath(channel)} fw={600} size="sm">
              {channel}
            </Anchor>
          ),
        },
        { title: texts.onFabric, cell: ({ fabricChannel }) => fabricChannel },
        { title: texts.contracts, cell: ({ chaincodes }) => chaincodes.join(', ') },
        {
          title: texts.newestBlock,
          align: 'right',
          width: '10rem',
          cell: ({ newestBlock }) =>
            newestBlock === null ? (
              <StateBadge tone="bad">{texts.noPeerAnswers}</StateBadge>
            ) : (
              formatNumber(newestBlock)
            ),
        },
      ]}
      empty={<ListEmpty title={texts.noChannelIsMapped} icon="ledger" />}
    />
  </Page>
);
