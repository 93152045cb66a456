import type { ReactNode } from 'react';
import { Anchor, Group, Stack, Title } from '@mantine/core';
import { Link, useNavigate, useParams } from 'react-router';
import type { Schemas } from '@sealgate/client';
import { listed } from '../../shell/api.ts';
import { CodeText } from '../../shell/code-text.tsx';
import { CursorTable } from '../../shell/cursor-table.tsx';
import { formatBytes, formatNumber } from '../../shell/formats.ts';
import { ListEmpty } from '../../shell/list-states.tsx';
import { Page } from '../../shell/page.tsx';
import { StateBadge } from '../../shell/state-badge.tsx';
import { Time } from '../../shell/time.tsx';
import { fabricPath } from './fabric-channels.tsx';
import { Jump } from './jump.tsx';
import * as texts from './texts.ts';

type FabricBlock = Schemas['ledgerPeerAdmin']['FabricBlock'];

const PAGE = 20;
export const aboveFabric = { title: texts.ledgerExplorer, to: '/ledger?by=ledger-peer' };

/** The blocks of one channel, newest first. */
export function FabricChannelPage(): ReactNode {
  const { channel = '' } = useParams();
  const navigate = useNavigate();
  return (
    <Page title={channel} above={[aboveFabric]}>
      <Stack gap="sm" component="section" aria-label={texts.blocks}>
        <Group justify="space-between" align="flex-end">
          <Title order={2}>{texts.blocks}</Title>
          <Jump
            label={texts.blockOrTransactionId}
            onNumber={(number) => void navigate(fabricPath(channel, number))}
            pathOf={(id) => `/ledger/fabric/transactions/${encodeURIComponent(id)}`}
          />
        </Group>
        <CursorTable
          label={texts.blocks}
          page={listed('/admin/ledger-peer/admin/v1/fabric/channels/{channel}/blocks', {
            path: { channel },
            limit: PAGE,
          })}
          rowKey={({ number }) => String(number)}
          columns={[
            {
              title: texts.block,
              width: '7rem',
              cell: ({ number }: FabricBlock) => (
                <Anchor component={Link} to={fabricPath(channel, number)} fw={600} size="sm">
                  {formatNumber(number)}
                </Anchor>
              ),
            },
            { title: texts.written, width: '12rem', cell: ({ at }) => (at === null ? '' : <Time value={at} />) },
            { title: texts.transactions, cell: (block) => <Counts block={block} /> },
            { title: texts.size, align: 'right', width: '6rem', cell: ({ bytes }) => formatBytes(bytes) },
            { title: texts.hash, cell: ({ hash }) => <CodeText value={hash} label={texts.copyTheHash} short={16} /> },
          ]}
          empty={<ListEmpty title={texts.noBlockHere} icon="ledger" />}
        />
      </Stack>
    </Page>
  );
}

/** How many transactions a block has, and how many of them have no effect. */
export function Counts({ block: { transactions, valid, configurations } }: { block: FabricBlock }): ReactNode {
  return (
    <Group gap="xs">
      {(transactions > 0 || configurations === 0) && <span>{formatNumber(transactions)}</span>}
      {transactions > valid && (
        <StateBadge tone="bad">{texts.withoutEffect(formatNumber(transactions - valid))}</StateBadge>
      )}
      {configurations > 0 && <StateBadge tone="plain">{texts.configuration}</StateBadge>}
    </Group>
  );
}
