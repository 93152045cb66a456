import type { ReactNode } from 'react';
import { Anchor, Paper, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { Link, useParams } from 'react-router';
import { api } from '../../shell/api.ts';
import { CodeText } from '../../shell/code-text.tsx';
import { PlainTable } from '../../shell/cursor-table.tsx';
import { formatNumber } from '../../shell/formats.ts';
import { Unread } from '../../shell/list-states.tsx';
import { Fact, Page } from '../../shell/page.tsx';
import { localTime } from '../../shell/local-time.ts';
import { Time } from '../../shell/time.tsx';
import { useNetworkName } from '../networks/network-names.ts';
import { provableRecord } from '../prove/provable.ts';
import { ProveButton } from '../prove/prove-button.tsx';
import { EventState } from './event-list.tsx';
import type { IngestEvent } from './live-tail.ts';
import * as texts from './texts.ts';

const above = [{ title: texts.dataView, to: '/events' }];

/** One event: sender, outcome, and its records with links to their proofs. */
export function EventPage(): ReactNode {
  const { eventId = '' } = useParams();
  const event = api.useQuery('get', '/admin/ingest-gateway/admin/v1/events/{eventId}', {
    params: { path: { eventId } },
  });
  return (
    <Page title={eventId} above={above}>
      <Unread read={event} />
      {event.data !== undefined && <Shown event={event.data} />}
    </Page>
  );
}

const MINUTE_MS = 60_000;

/** The deliveries of its source in its minute, of every outcome. */
function deliveriesOf({ networkId, keyId, at }: IngestEvent): string {
  const from = localTime(at);
  const to = localTime(Date.parse(at) + MINUTE_MS);
  return `/networks/${networkId}/sources/${keyId}/deliveries?${new URLSearchParams({ show: 'all', from, to })}`;
}

const proofOf = (record: IngestEvent['records'][number]): ReactNode => (
  <ProveButton of={provableRecord('ingest-gateway', record)} what={record.id} />
);

function Shown({ event }: { event: IngestEvent }): ReactNode {
  const nameOf = useNetworkName();
  return (
    <>
      {event.status === 'unknown' && <Text size="sm">{texts.outcomeUnknownHint}</Text>}
      <Paper>
        <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }}>
          <Fact label={texts.state}>
            <EventState status={event.status} />
          </Fact>
          <Fact label={texts.when}>
            <Time value={event.at} />
          </Fact>
          <Fact label={texts.kind}>{event.kind}</Fact>
          <Fact label={texts.network}>
            <Anchor component={Link} to={`/networks/${event.networkId}`} size="sm">
              {nameOf(event.networkId)}
            </Anchor>
          </Fact>
          {event.keyId.startsWith('src_') ? (
            <Fact label={texts.source}>
              <Anchor component={Link} to={deliveriesOf(event)} size="sm">
                {texts.itsDelivery}
              </Anchor>
            </Fact>
          ) : (
            <Fact label={texts.key}>
              <CodeText value={event.keyId} label={texts.copyTheIdOfTheKey} />
            </Fact>
          )}
          <Fact label={texts.request}>
            <CodeText value={event.requestId} label={texts.copyTheRequestId} />
          </Fact>
          <Fact label={texts.types}>{event.types.join(', ') || texts.none}</Fact>
          <Fact label={texts.sensitiveMembersRemoved}>{formatNumber(event.strippedFields)}</Fact>
        </SimpleGrid>
      </Paper>
      <Stack gap="sm" component="section" aria-label={texts.records}>
        <Title order={2}>{texts.records}</Title>
        <PlainTable
          label={texts.records}
          rows={event.records}
          rowKey={({ id, channel }) => `${channel} ${id}`}
          columns={[
            {
              title: texts.record,
              cell: ({ id, channel }) => (
                <Anchor
                  component={Link}
                  to={`/ledger/${encodeURIComponent(channel)}/${encodeURIComponent(id)}?by=ingest-gateway`}
                  size="sm"
                >
                  {id}
                </Anchor>
              ),
            },
            { title: texts.channel, cell: ({ channel }) => channel },
            {
              title: texts.transaction,
              cell: ({ transactionId }) => <CodeText value={transactionId} label={texts.copyTheTransactionId} />,
            },
            { title: texts.proof, cell: proofOf },
          ]}
          empty={
            <Text p="md" size="sm" c="dimmed">
              {event.kind === 'ping' ? texts.aPingWritesNothing : texts.nothingWasWritten}
            </Text>
          }
        />
      </Stack>
    </>
  );
}
