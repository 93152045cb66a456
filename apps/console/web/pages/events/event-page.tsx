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

const above = [{ title: 'Data view', to: '/events' }];

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
      {event.status === 'unknown' && (
        <Text size="sm">
          It is not known whether it was written. It is no failure: sending the same request again with the same
          Idempotency-Key resolves it.
        </Text>
      )}
      <Paper>
        <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }}>
          <Fact label="State">
            <EventState status={event.status} />
          </Fact>
          <Fact label="When">
            <Time value={event.at} />
          </Fact>
          <Fact label="Kind">{event.kind}</Fact>
          <Fact label="Network">
            <Anchor component={Link} to={`/networks/${event.networkId}`} size="sm">
              {nameOf(event.networkId)}
            </Anchor>
          </Fact>
          {event.keyId.startsWith('src_') ? (
            <Fact label="Source">
              <Anchor component={Link} to={deliveriesOf(event)} size="sm">
                Its delivery
              </Anchor>
            </Fact>
          ) : (
            <Fact label="Key">
              <CodeText value={event.keyId} label="the id of the key" />
            </Fact>
          )}
          <Fact label="Request">
            <CodeText value={event.requestId} label="the request id" />
          </Fact>
          <Fact label="Types">{event.types.join(', ') || 'none'}</Fact>
          <Fact label="Sensitive members removed">{formatNumber(event.strippedFields)}</Fact>
        </SimpleGrid>
      </Paper>
      <Stack gap="sm" component="section" aria-label="Records">
        <Title order={2}>Records</Title>
        <PlainTable
          label="Records"
          rows={event.records}
          rowKey={({ id, channel }) => `${channel} ${id}`}
          columns={[
            {
              title: 'Record',
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
            { title: 'Channel', cell: ({ channel }) => channel },
            {
              title: 'Transaction',
              cell: ({ transactionId }) => <CodeText value={transactionId} label="the transaction id" />,
            },
            { title: 'Proof', cell: proofOf },
          ]}
          empty={
            <Text p="md" size="sm" c="dimmed">
              {event.kind === 'ping' ? 'A ping writes nothing.' : 'Nothing was written.'}
            </Text>
          }
        />
      </Stack>
    </>
  );
}
