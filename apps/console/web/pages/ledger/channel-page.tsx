import type { ReactNode } from 'react';
import { Anchor, Button, Group, Paper, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { Link, useParams } from 'react-router';
import { api, listed } from '../../shell/api.ts';
import { CursorTable, type PageAt } from '../../shell/cursor-table.tsx';
import { formatNumber } from '../../shell/formats.ts';
import { ListEmpty, ListError, ListLoading } from '../../shell/list-states.tsx';
import { Page } from '../../shell/page.tsx';
import { useMayAdmin } from '../../shell/mine.ts';
import { StateBadge } from '../../shell/state-badge.tsx';
import { Time } from '../../shell/time.tsx';
import { useUrlFilters } from '../../shell/use-url-filters.ts';
import { AuditPanel } from './audit-panel.tsx';
import { LogNotes } from '../log/log-notes.tsx';
import { usePublicLog } from '../log/public-peer.ts';
import { provableRecord } from '../prove/provable.ts';
import { ProveButton } from '../prove/prove-button.tsx';
import { Jump } from './jump.tsx';
import { ledgerOf, type LedgerSurface } from './ledger-source.ts';
import { SignedState } from './signed-state.tsx';
import * as texts from './texts.ts';

interface ChannelProps {
  readonly surface: LedgerSurface;
  readonly channel: string;
}

/** One channel: signed state, checkpoints, audits, records. */
export function ChannelPage({ surface }: { surface: LedgerSurface }): ReactNode {
  const { channel = '' } = useParams();
  const isOperator = useMayAdmin(surface, 'admin:change');
  const isPublic = usePublicLog(channel).isSuccess;
  return (
    <Page
      title={channel}
      above={[{ title: texts.ledgerExplorer, to: `/ledger?by=${surface}` }]}
      actions={
        isPublic && (
          <Button component={Link} to={`/log/${encodeURIComponent(channel)}`} variant="default">
            {texts.publicPage}
          </Button>
        )
      }
    >
      <Summary surface={surface} channel={channel} />
      {isOperator && <AuditPanel surface={surface} channel={channel} />}
      <Records surface={surface} channel={channel} />
      <Checkpoints surface={surface} channel={channel} />
    </Page>
  );
}

function Summary({ surface, channel }: ChannelProps): ReactNode {
  const read = api.useQuery(
    'get',
    `${ledgerOf(surface)}/channels/{channel}`,
    { params: { path: { channel } } },
    { refetchInterval: 15_000 },
  );
  if (read.isError) return <ListError error={read.error} onRetry={() => void read.refetch()} />;
  return (
    <Paper>
      {read.data === undefined ? (
        <ListLoading rows={2} />
      ) : (
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          <Stack gap={2}>
            <Text size="xs" c="dimmed">
              {texts.records}
            </Text>
            <Text fw={600}>{formatNumber(read.data.size)}</Text>
          </Stack>
          <Stack gap={2} align="flex-start">
            <Text size="xs" c="dimmed">
              {texts.newestCheckpoint}
            </Text>
            <SignedState channel={read.data} />
          </Stack>
        </SimpleGrid>
      )}
    </Paper>
  );
}

function Records({ surface, channel }: ChannelProps): ReactNode {
  const [{ below }, setFilters] = useUrlFilters(['below']);
  // A cursor has its own place.
  const pages = ({ cursor }: PageAt) =>
    listed(`${ledgerOf(surface)}/channels/{channel}/records`, {
      path: { channel },
      query: cursor === undefined ? { below } : { cursor },
    })({});
  return (
    <Stack gap="sm" component="section" aria-label={texts.records}>
      <Group justify="space-between" align="flex-end">
        <Title order={2}>{texts.records}</Title>
        <Jump
          label={texts.indexOrRecordId}
          onNumber={(index) => setFilters({ below: String(index + 1) })}
          pathOf={(id) => `/ledger/${encodeURIComponent(channel)}/${encodeURIComponent(id)}?by=${surface}`}
        >
          {below !== undefined && (
            <Button size="xs" variant="subtle" onClick={() => setFilters({ below: null })}>
              {texts.newest}
            </Button>
          )}
        </Jump>
      </Group>
      <CursorTable
        label={texts.records}
        page={pages}
        rowKey={({ position }) => String(position)}
        columns={[
          { title: texts.place, align: 'right', width: '6rem', cell: ({ position }) => formatNumber(position) },
          {
            title: texts.record,
            cell: ({ id }) => (
              <Anchor
                component={Link}
                to={`/ledger/${encodeURIComponent(channel)}/${encodeURIComponent(id)}?by=${surface}`}
                size="sm"
              >
                {id}
              </Anchor>
            ),
          },
          {
            title: texts.proof,
            width: '7rem',
            cell: ({ id, erased }) => <ProveButton of={provableRecord(surface, { channel, id, erased })} what={id} />,
          },
          { title: texts.type, cell: ({ type }) => type },
          { title: texts.owner, cell: ({ owner }) => owner ?? '' },
          {
            title: texts.written,
            width: '10rem',
            cell: ({ at, erased, archived }) => (
              <Stack gap={2} align="flex-start">
                {at !== null && <Time value={at} form="ago" />}
                {erased && <StateBadge tone="wait">{texts.erased}</StateBadge>}
                {archived && <StateBadge tone="plain">{texts.archived}</StateBadge>}
              </Stack>
            ),
          },
        ]}
        empty={
          <ListEmpty title={texts.noRecordHere} icon="ledger">
            {below === undefined ? texts.noRecordYetHint : texts.noRecordsBelowThisIndex}
          </ListEmpty>
        }
      />
    </Stack>
  );
}

/** The newest signed note of each log of the channel; several only after a declared loss. */
function Checkpoints({ surface, channel }: ChannelProps): ReactNode {
  const logs = api.useQuery('get', `${ledgerOf(surface)}/channels/{channel}/logs`, { params: { path: { channel } } });
  if (logs.isError) return <ListError error={logs.error} onRetry={() => void logs.refetch()} />;
  return (
    <Stack gap="sm" component="section" aria-label={texts.checkpoints}>
      <Title order={2}>{texts.checkpoints}</Title>
      <LogNotes logs={logs.data?.logs ?? []} />
    </Stack>
  );
}
